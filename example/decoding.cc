// Decoding with a KV cache: one query at a time gives the result of one causal call.
#include "example/example.h"
#include "qkv/attention/cache.h"
#include "qkv/attention/mask/causal.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(16), v = example::normal({1, 1, 16, 8}, 1);
  const auto full = attention_with_weights(x, x, v, {.mask = causal()});
  Tensor steps = Tensor::zeros({1, 1, 16, 16});
  KeyValueCache cache;
  float difference = 0;
  for (int64_t t = 0; t < 16; ++t) {
    cache.append(x.slice(2, t, t + 1), v.slice(2, t, t + 1));
    const auto step = attention_with_weights(x.slice(2, t, t + 1), cache.keys(), cache.values());
    steps.slice(2, t, t + 1).slice(3, 0, t + 1).copy_from(step.weights);
    for (int64_t e = 0; e < 8; ++e)
      difference =
          std::max(difference, std::abs(step.out.at<float>({0, 0, 0, e}) - full.out.at<float>({0, 0, t, e})));
  }
  fmt::print("16 steps differ from one call by {} 1e-5\n", difference < 1e-5f ? "less than" : "more than");
  example::draw(argc, argv, {{"one call, causal()", full.weights}, {"16 steps", steps}});
}
