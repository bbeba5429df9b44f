// A window for everybody, and two positions that see all and are seen by all.
#include "qkv/attention/mask/longformer.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const Tensor weights = attention_with_weights(x, x, x, {.mask = longformer(2, {0, 13})}).weights;

  fmt::print("query 20 sees key 13 with weight {:.3f}, key 12 with {:.3f}\n", weights.at<float>({0, 0, 20, 13}),
             weights.at<float>({0, 0, 20, 12}));
  example::draw(argc, argv, {{"who sees whom", example::seen(weights)}, {"weights", weights}});
}
