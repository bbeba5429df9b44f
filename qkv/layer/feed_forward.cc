#include "qkv/layer/feed_forward.h"

#include "qkv/op/arithmetic.h"
#include "qkv/op/dropout.h"

namespace qkv {

FeedForward::FeedForward(const FeedForwardOptions& o)
    : up({o.d_model, "C"}, {o.ffn, "F"}, o.bias), down({o.ffn, "F"}, {o.d_model, "C"}, o.bias), options_(o) {
  if (o.gated) gate.emplace(Axis(o.d_model, "C"), Axis(o.ffn, "F"), o.bias);
}

Variable FeedForward::forward(const Variable& x, Pass& pass) const {
  const auto hidden = [&] {
    if (!gate && options_.activation == Activation::relu) return up.forward_relu(x);
    if (!gate) return activate(options_.activation, up.forward(x));
    const auto [gates, values] = forward_all<2>(x, {&*gate, &up});
    return multiply(activate(options_.activation, gates), values);
  };
  return down.forward(dropout(hidden(), pass.dropout(options_.dropout)));
}

void FeedForward::list(ModuleContents& contents) const {
  if (gate) contents.child("gate", *gate);
  contents.child("up", up);
  contents.child("down", down);
}

}  // namespace qkv
