// A window for every position, and two global positions that see all and are seen by all.
#include "qkv/attention/mask/longformer.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const Tensor weights = attention_with_weights(x, x, x, {.mask = longformer(2, {0, 13})}).weights;

  fmt::print("weight of query 20 on key 13: {:.3f}, on key 12: {:.3f}\n", weights.at<float>({0, 0, 20, 13}),
             weights.at<float>({0, 0, 20, 12}));
  example::draw(argc, argv, {{"visible", example::visible(weights)}, {"weights", weights}});
}
