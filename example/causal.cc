// Causal self-attention: no query looks ahead.
#include "qkv/attention/mask/causal.h"

#include "example/example.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const auto [out, weights, lse] = attention_with_weights(x, x, x, {.mask = causal()});

  fmt::print("query 0 gives key 0 the weight {:.2f}\n", weights.at<float>({0, 0, 0, 0}));
  fmt::print("query 5 gives key 6 the weight {:.2f}\n", weights.at<float>({0, 0, 5, 6}));
  example::draw(argc, argv, {{"who sees whom", example::seen(weights)}, {"weights", weights}});
}
