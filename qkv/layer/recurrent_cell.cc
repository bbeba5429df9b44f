#include "qkv/layer/recurrent_cell.h"

#include "qkv/layer/gru.h"
#include "qkv/layer/lstm.h"
#include "qkv/op/shape.h"

namespace qkv {

RecurrentCell::RecurrentCell(const Axis& in, const Axis& width, int64_t gates)
    : input(in, gates_axis(gates, width)), hidden(width, gates_axis(gates, width)) {}

Axis RecurrentCell::gates_axis(int64_t gates, const Axis& width) {
  return {gates * width.size, width.letter.empty() ? "" : fmt::format("({} {})", gates, width.letter)};
}

Variable RecurrentCell::forward(const Variable& x, const RecurrenceOptions& options) const {
  return states(input.forward(x), options);
}

Variable RecurrentCell::step(const Variable& x, const Variable& state) const {
  require(x.value().rank() == 2, "RecurrentCell::step", "x must be (R,I), got {}", x.shape());
  const Variable next = forward(reshape(x, {x.dim(0), 1, x.dim(1)}), {.initial = state});
  return reshape(next, {x.dim(0), state_width()});
}

Variable RecurrentCell::output(const Variable& state) const {
  return state_width() == width() ? state : slice(state, state.value().rank() - 1, 0, width());
}

void RecurrentCell::list(ModuleContents& contents) const {
  contents.child("input", input);
  contents.child("hidden", hidden);
}

std::unique_ptr<RecurrentCell> make_cell(CellKind kind, const Axis& in, const Axis& width) {
  if (kind == CellKind::gru) return std::make_unique<Gru>(in, width);
  return std::make_unique<Lstm>(in, width);
}

}  // namespace qkv
