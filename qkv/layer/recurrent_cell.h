// The cell of a recurrent layer, the common part of gru.h and lstm.h.
//
//     state_t = cell(x_t, state_(t-1))        the first W numbers of a state are h_t, the output
//
//     Gru cell({256, "E"}, {512, "C"});
//     Variable states = cell.forward(x, {.lengths = lengths});     // x (B,T,I), states (B,T,state_width)
//     Variable next   = cell.step(x_t, state);                     // x_t (R,I), state (R,state_width)
//
// A step has the bits of the same position of the whole sequence. Lengths, reverse and the initial state:
// RecurrenceOptions. Parameters: input, Linear (I -> gates W), of all positions in one product; hidden, Linear (W ->
// gates W). The gates are the rows of both, one after the other, in the order of torch.nn.GRU and torch.nn.LSTM.
#pragma once

#include <memory>

#include "qkv/base/names.h"
#include "qkv/layer/linear.h"
#include "qkv/op/recurrence.h"

namespace qkv {

enum class CellKind { gru, lstm };
constexpr auto names_of(CellKind) { return std::array{Named{CellKind::gru, "gru"}, Named{CellKind::lstm, "lstm"}}; }

class RecurrentCell : public Module {
 public:
  Variable forward(const Variable& x, const RecurrenceOptions& options = {}) const;
  Variable step(const Variable& x, const Variable& state) const;
  Variable output(const Variable& state) const;  // h, of a state or of states

  int64_t width() const { return hidden.weight.dim(1); }  // W
  virtual int64_t state_width() const = 0;

  void list(ModuleContents& contents) const override;

  Linear input, hidden;

 protected:
  RecurrentCell(const Axis& in, const Axis& width, int64_t gates);
  static Axis gates_axis(int64_t gates, const Axis& width);  // gates W rows
  virtual Variable states(const Variable& projected, const RecurrenceOptions& options) const = 0;
};

std::unique_ptr<RecurrentCell> make_cell(CellKind kind, const Axis& in, const Axis& width);

}  // namespace qkv
