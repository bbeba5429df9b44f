#include "qkv/layer/gru.h"

#include "qkv/op/gru.h"

namespace qkv {

Gru::Gru(const Axis& in, const Axis& width) : RecurrentCell(in, width, 3) {}

Variable Gru::states(const Variable& projected, const RecurrenceOptions& options) const {
  return gru(projected, hidden.weight, hidden.bias, options);
}

}  // namespace qkv
