#include "qkv/layer/feed_forward.h"

#include "qkv/op/activation.h"
#include "qkv/op/dropout.h"

namespace qkv {

FeedForward::FeedForward(const FeedForwardOptions& options)
    : up({options.d_model, "C"}, {options.ffn, "F"}),
      down({options.ffn, "F"}, {options.d_model, "C"}),
      options_(options) {}

Variable FeedForward::forward(const Variable& x, Pass& pass) const {
  const Variable hidden = options_.activation == Activation::relu ? relu(up.forward(x)) : gelu(up.forward(x));
  return down.forward(dropout(hidden, pass.dropout(options_.dropout)));
}

void FeedForward::list(ModuleContents& contents) const {
  contents.child("up", up);
  contents.child("down", down);
}

}  // namespace qkv
