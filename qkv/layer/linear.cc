#include "qkv/layer/linear.h"

#include "qkv/op/linear.h"

namespace qkv {

Linear::Linear(int64_t in, int64_t out, bool with_bias) : weight(new_parameter({out, in})) {
  if (with_bias) bias = new_parameter({out});
}

Variable Linear::forward(const Variable& x) const { return linear(x, weight, bias); }

void Linear::visit(const std::string& prefix, const ParameterVisitor& visitor) {
  visitor(join_name(prefix, "weight"), weight);
  if (bias.defined()) visitor(join_name(prefix, "bias"), bias);
}

void Linear::initialise(const std::string& prefix, uint64_t seed) {
  fan_in_uniform(weight, seed, join_name(prefix, "weight"));
}

}  // namespace qkv
