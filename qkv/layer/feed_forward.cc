#include "qkv/layer/feed_forward.h"

#include "qkv/op/activation.h"
#include "qkv/op/dropout.h"

namespace qkv {

FeedForward::FeedForward(const FeedForwardOptions& options)
    : up(options.d_model, options.ffn), down(options.ffn, options.d_model), options_(options) {}

Variable FeedForward::forward(const Variable& x, Pass& pass) const {
  const Variable hidden = options_.activation == Activation::relu ? relu(up.forward(x)) : gelu(up.forward(x));
  return down.forward(dropout(hidden, pass.dropout(options_.dropout)));
}

void FeedForward::visit(const std::string& prefix, const ParameterVisitor& visitor) {
  up.visit(join_name(prefix, "up"), visitor);
  down.visit(join_name(prefix, "down"), visitor);
}

void FeedForward::initialise(const std::string& prefix, uint64_t seed) {
  up.initialise(join_name(prefix, "up"), seed);
  down.initialise(join_name(prefix, "down"), seed);
}

}  // namespace qkv
