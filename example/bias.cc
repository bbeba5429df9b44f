// The patches of a picture, 6 by 6, in one sequence: the bias is how far apart two of them lie in the picture.
#include "qkv/attention/modify/bias.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor pairs = Tensor::empty({1, 1, 36, 36});
  for (int64_t i = 0; i < 36; ++i)
    for (int64_t j = 0; j < 36; ++j)
      pairs.data<float>()[36 * i + j] = -static_cast<float>(std::abs(i / 6 - j / 6) + std::abs(i % 6 - j % 6));
  const Tensor x = Tensor::zeros({1, 1, 36, 8});
  const Tensor weights = attention_with_weights(x, x, x, {.modify = {bias(pairs)}}).weights;

  fmt::print("patch 14 gives the one below it, 20, {:.3f} and the one behind it, 15, {:.3f}\n",
             weights.at<float>({0, 0, 14, 20}), weights.at<float>({0, 0, 14, 15}));
  example::draw(argc, argv, {{"bias(pairs)", weights}});
}
