// Prefix language model: 8 prompt positions visible to all queries, the rest causal.
#include "qkv/attention/mask/prefix.h"

#include "example/example.h"
#include "qkv/attention/mask/causal.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const Tensor weights = attention_with_weights(x, x, x, {.mask = causal() | prefix({8})}).weights;

  fmt::print("weight of query 0 on key 7: {:.3f}, on key 8: {:.3f}\n", weights.at<float>({0, 0, 0, 7}),
             weights.at<float>({0, 0, 0, 8}));
  example::draw(argc, argv, {{"visible", example::visible(weights)}, {"weights", weights}});
}
