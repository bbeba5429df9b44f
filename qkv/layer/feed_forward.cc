#include "qkv/layer/feed_forward.h"

#include <algorithm>

#include "qkv/base/threads.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/dropout.h"

namespace qkv {

FeedForward::FeedForward(const FeedForwardOptions& o)
    : up({o.d_model, "C"}, {o.ffn, "F"}, o.bias), down({o.ffn, "F"}, {o.d_model, "C"}, o.bias), options_(o) {
  if (o.gated) gate.emplace(Axis(o.d_model, "C"), Axis(o.ffn, "F"), o.bias);
}

Variable FeedForward::forward(const Variable& x, const Dropout& after_activation) const {
  const auto hidden = [&] {
    if (!gate && options_.activation == Activation::relu) return up.forward_relu(x);
    if (!gate) return activate(options_.activation, up.forward(x));
    const auto [gates, values] = forward_all<2>(x, {&*gate, &up});
    return multiply(activate(options_.activation, gates), values);
  };
  return down.forward(dropout(hidden(), after_activation));
}

namespace {

// Rows of a block whose hidden layer stays in the second-level caches of the cores, of two at most, but not few: each block reads
// the weights again.
int64_t rows_of_block(const FeedForwardOptions& o) {
  const int64_t cores = std::min(threads(), 2), cached = cores << 20, min_rows = 64 * cores;
  const int64_t bytes_of_row = (o.gated ? 3 : 1) * o.ffn * int64_t{sizeof(float)};
  return std::max(min_rows, cached / bytes_of_row / 64 * 64);
}

}  // namespace

Variable FeedForward::forward(const Variable& x, Pass& pass) const {
  const Dropout after_activation = pass.dropout(options_.dropout);
  const int64_t C = options_.d_model, rows = C > 0 ? x.value().numel() / C : 0, block = rows_of_block(options_);
  if (recording() || after_activation.rate > 0 || x.dim(-1) != C || rows <= block)
    return forward(x, after_activation);
  Tensor y = Tensor::empty(x.shape());
  const Tensor from = x.value().contiguous_copy().reshape({rows, C}), to = y.reshape({rows, C});
  for (int64_t begin = 0; begin < rows; begin += block) {
    const int64_t end = std::min(rows, begin + block);
    to.slice(0, begin, end).copy_from(forward(from.slice(0, begin, end), after_activation).value());
  }
  return y;
}

void FeedForward::list(ModuleContents& contents) const {
  if (gate) contents.child("gate", *gate);
  contents.child("up", up);
  contents.child("down", down);
}

}  // namespace qkv
