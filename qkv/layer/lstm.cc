#include "qkv/layer/lstm.h"

#include <algorithm>

#include "qkv/op/lstm.h"

namespace qkv {
namespace {

void remember(Variable& bias, uint64_t, const std::string&) {
  const int64_t W = bias.dim(0) / 4;
  Tensor& b = bias.mutable_value();
  b.fill(0.0f);
  b.slice(0, W, 2 * W).fill(1.0f);
}

}  // namespace

Lstm::Lstm(const Axis& in, const Axis& width) : RecurrentCell(in, width, 4) {
  input.bias = Parameter({gates_axis(4, width)}, remember);
}

Variable Lstm::states(const Variable& projected, const RecurrenceOptions& options) const {
  return lstm(projected, hidden.weight, hidden.bias, options);
}

}  // namespace qkv
