// A third of the weights is dropped, the others are scaled by 1.5; which ones depends on seed, stream and pair.
#include "qkv/attention/reweigh/dropout.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const auto weights = [&](uint64_t step) {
    const ReweigherPtr dropped = weight_dropout({.rate = 1.0 / 3, .seed = 1, .stream = step});
    return attention_with_weights(x, x, x, {.reweigh = {dropped}}).weights;
  };
  const Tensor plain = attention_with_weights(x, x, x).weights, first = weights(0), second = weights(1);

  fmt::print("largest weight of query 12: {:.2f}, then {:.2f} and {:.2f}\n", example::largest(plain, 12),
             example::largest(first, 12), example::largest(second, 12));
  example::draw(argc, argv, {{"no dropout", plain}, {"step 0", first}, {"step 1", second}});
}
