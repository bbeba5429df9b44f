// What a user of the installed library may write.
#include <cstdio>

#include <fmt/format.h>

#include "qkv/base/version.h"
#include "qkv/tensor/tensor.h"

int main() {
  const qkv::Tensor x = qkv::Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3});
  if (x.transpose(0, 1).at<float>({2, 0}) != 3.0f) return 1;
  std::puts(fmt::format("consumer: qkv {} works, shape {}", qkv::version(), x.shape()).c_str());
}
