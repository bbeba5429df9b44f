// The same query and key at every position: all scores are equal until RoPE rotates them by their positions.
#include "qkv/op/rotary.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = Tensor::full({1, 1, 24, 32}, 1.2f);
  const Tensor q = rotary(x).value(), later = rotary(x, {.offset = 6}).value();
  const Tensor plain = attention_with_weights(x, x, x).weights;
  const Tensor rotated = attention_with_weights(q, q, x).weights;
  const Tensor shifted = attention_with_weights(later, q, x).weights;

  const auto score = [&](int64_t i, int64_t j) {
    float sum = 0;
    for (int64_t c = 0; c < 32; ++c) sum += q.at<float>({0, 0, i, c}) * q.at<float>({0, 0, j, c});
    return sum;
  };
  fmt::print("query 6 . key 12 is {:.2f}, query 10 . key 16 is {:.2f}\n", score(6, 12), score(10, 16));
  example::draw(
      argc, argv,
      {{"not rotated", plain}, {"rotary(q), rotary(k)", rotated}, {"queries 6 positions later", shifted}});
}
