// Long short-term memory (Hochreiter and Schmidhuber, 1997; forget gate: Gers et al., 2000) with its parameters:
// [h_t; c_t] = lstm(x_t, [h_(t-1); c_(t-1)]), the formula of op/lstm.h.
//
//     Lstm cell({256, "E"}, {512, "C"});
//     Variable states = cell.forward(x, {.lengths = lengths});      // x (B,T,256), states (B,T,1024)
//     Variable h = cell.output(states);                             // (B,T,512)
//
// The state is [h; c], of width 2W. Parameters: input (4W, I), hidden (4W, W), with biases, the gates in the order i,
// f, g, o: those of torch.nn.LSTMCell. Weights begin as fan_in_uniform(), biases as zero, but the bias of the forget
// gate as one, so that a cell remembers until it has learned to forget (Jozefowicz et al., 2015).
#pragma once

#include "qkv/layer/recurrent_cell.h"

namespace qkv {

class Lstm final : public RecurrentCell {
 public:
  Lstm(const Axis& in, const Axis& width);
  int64_t state_width() const override { return 2 * width(); }

 private:
  Variable states(const Variable& projected, const RecurrenceOptions& options) const override;
};

}  // namespace qkv
