// A program that uses attention alone.
#include <cstdio>

#include "qkv/attention.h"

int main() {
  // One head, two positions of width 1: the first sees only itself.
  const qkv::Tensor q = qkv::Tensor::from({1, 2}, {1, 1, 2, 1}), v = qkv::Tensor::from({3, 5}, {1, 1, 2, 1});
  const qkv::Tensor y = qkv::attention(q, q, v, {.mask = qkv::causal()});
  const float first = y.at<float>({0, 0, 0, 0}), second = y.at<float>({0, 0, 1, 0});
  if (first != 3.0f || second <= 4.0f || second >= 5.0f) return 1;
  // Shapes are formatted by code of the library, which is in namespace fmt.
  std::puts(fmt::format("attention: qkv {} works, {} {} of {}", qkv::version(), first, second, y.shape()).c_str());
}
