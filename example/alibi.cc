// ALiBi alone: with scores of 0, the weights depend on the distance only.
#include "qkv/attention/modify/alibi.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = Tensor::zeros({1, 8, 20, 16});
  const std::vector<float> slopes = alibi_slopes(8);
  const Tensor weights = attention_with_weights(x, x, x, {.modify = {alibi(slopes)}}).weights;

  fmt::print("slopes {:g}\n", fmt::join(slopes, ", "));
  const auto head = [&](int64_t h) { return Panel{fmt::format("slope {:g}", slopes[h]), weights.select(1, h)}; };
  example::draw(argc, argv, {head(0), head(2), head(4)});
}
