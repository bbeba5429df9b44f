// A gated recurrent unit (Cho et al., 2014) with its parameters: h_t = gru(x_t, h_(t-1)), the formula of op/gru.h.
//
//     Gru cell({256, "E"}, {512, "C"});
//     Variable h = cell.forward(x, {.lengths = lengths});       // x (B,T,256), h (B,T,512)
//     Variable next = cell.step(x_t, state);                    // x_t (R,256), state and next (R,512)
//
// The state is h, of width W. Parameters: input (3W, I), hidden (3W, W), with biases, the gates in the order r, z, n:
// those of torch.nn.GRUCell. Weights begin as fan_in_uniform(), biases as zero.
#pragma once

#include "qkv/layer/recurrent_cell.h"

namespace qkv {

class Gru final : public RecurrentCell {
 public:
  Gru(const Axis& in, const Axis& width);
  int64_t state_width() const override { return width(); }

 private:
  Variable states(const Variable& projected, const RecurrenceOptions& options) const override;
};

}  // namespace qkv
