// Long short-term memory over time (Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997), with the forget
// gate of Gers, Schmidhuber and Cummins ("Learning to Forget", 2000):
//
//     a = input_t + w h_(t-1) + b,      a = [a_i; a_f; a_g; a_o]
//     i = sigmoid(a_i)      f = sigmoid(a_f)      g = tanh(a_g)      o = sigmoid(a_o)
//     c_t = f * c_(t-1) + i * g
//     h_t = o * tanh(c_t)
//
//     Variable state = lstm(linear(x, w_x, b_x), w, b, {.lengths = lengths});
//     Variable h = slice(state, 2, 0, W);
//
// Shapes: input (B,T,4W), already projected, for all positions at once; w (4W,W), b (4W), optional; the state
// (B,T,2W) is [h; c], the initial one (B,2W). Lengths and reverse: see recurrence.h. One op with its own backward:
// gates are not separate tensors, and the gradient of w is one product over all positions. Errors: shapes that do
// not fit together, lengths outside [0, T].
#pragma once

#include "qkv/op/recurrence.h"

namespace qkv {

Variable lstm(const Variable& input, const Weight& w, const Variable& b, const RecurrenceOptions& options = {});

}  // namespace qkv
