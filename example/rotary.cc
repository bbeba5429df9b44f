// The same query and key at every position: all scores are equal until RoPE rotates them by their positions.
#include "qkv/op/rotary.h"

#include "example/example.h"
#include "qkv/op/rotary_scaling.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = Tensor::full({1, 1, 24, 32}, 1.21f);
  const Tensor q = rotary(x).value(), later = rotary(x, {.offset = 6}).value();
  const Tensor plain = attention_with_weights(x, x, x).weights;
  const Tensor rotated = attention_with_weights(q, q, x).weights;
  const Tensor shifted = attention_with_weights(later, q, x).weights;

  // For texts four times as long: the same angles, and so the same scores, at four times the distance.
  const RotaryScaling four = {.type = RotaryScalingType::linear, .factor = 4};
  const Tensor far = rotary(x, {.frequencies = rotary_frequencies(10000, 32, four).frequencies}).value();
  const Tensor scaled = attention_with_weights(far, far, x).weights;

  const auto score = [](const Tensor& r, int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t c = 0; c < 32; ++c) sum += r.at<float>({0, 0, i, c}) * r.at<float>({0, 0, j, c});
    return sum;
  };
  fmt::print("query 6 . key 12 is {:.2f}, query 10 . key 16 is {:.2f}\n", score(q, 6, 12), score(q, 10, 16));
  fmt::print("query 20 . key 22 is {:.2f}, scaled query 12 . key 20 is {:.2f}\n", score(q, 20, 22),
             score(far, 12, 20));
  example::draw(argc, argv,
                {{"not rotated", plain},
                 {"rotary(q), rotary(k)", rotated},
                 {"queries 6 positions later", shifted},
                 {"scaled by 4", scaled}});
}
