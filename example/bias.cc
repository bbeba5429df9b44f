// 6 x 6 image patches as one sequence: the bias is minus the distance of two patches in the image.
#include "qkv/attention/modify/bias.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  Tensor distances = Tensor::empty({1, 1, 36, 36});
  for (int64_t i = 0; i < 36; ++i)
    for (int64_t j = 0; j < 36; ++j)
      distances.data<float>()[36 * i + j] = -static_cast<float>(std::abs(i / 6 - j / 6) + std::abs(i % 6 - j % 6));
  const Tensor x = Tensor::zeros({1, 1, 36, 8});
  const Tensor weights = attention_with_weights(x, x, x, {.modify = {bias(distances)}}).weights;

  fmt::print("patch 14: weight {:.3f} of patch 20, below it; weight {:.3f} of patch 15, to its right\n",
             weights.at<float>({0, 0, 14, 20}), weights.at<float>({0, 0, 14, 15}));
  example::draw(argc, argv, {{"bias(distances)", weights}});
}
