// A prompt of 8 positions that all may read whole, and an answer that is written from left to right.
#include "qkv/attention/mask/prefix.h"

#include "example/example.h"
#include "qkv/attention/mask/causal.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const Tensor weights = attention_with_weights(x, x, x, {.mask = causal() | prefix({8})}).weights;

  fmt::print("query 0 looks ahead to key 7 with weight {:.3f}, to key 8 with {:.3f}\n",
             weights.at<float>({0, 0, 0, 7}), weights.at<float>({0, 0, 0, 8}));
  example::draw(argc, argv, {{"who sees whom", example::seen(weights)}, {"weights", weights}});
}
