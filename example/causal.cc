// Causal self-attention: no query sees a later key.
#include "qkv/attention/mask/causal.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const auto [out, weights, lse] = attention_with_weights(x, x, x, {.mask = causal()});

  fmt::print("weight of query 0 on key 0: {:.2f}\n", weights.at<float>({0, 0, 0, 0}));
  fmt::print("weight of query 5 on key 6: {:.2f}\n", weights.at<float>({0, 0, 5, 6}));
  example::draw(argc, argv, {{"visible", example::visible(weights)}, {"weights", weights}});
}
