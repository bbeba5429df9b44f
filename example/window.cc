// Sliding windows: both sides, and the past only.
#include "qkv/attention/mask/window.h"

#include "example/example.h"
#include "qkv/attention/mask/causal.h"

using namespace qkv;

int main(int argc, char** argv) {
  const Tensor x = example::sequence(24);
  const Tensor both = attention_with_weights(x, x, x, {.mask = window(3)}).weights;
  const Tensor past = attention_with_weights(x, x, x, {.mask = causal() & window(6)}).weights;

  const auto row = example::visible(past).select(0, 0).select(0, 0).select(0, 20);
  fmt::print("query 20 sees the keys {:.0f}\n", fmt::join(row.span<float>(), ""));
  example::draw(argc, argv, {{"window(3)", both}, {"causal() & window(6)", past}});
}
