// A gated recurrent unit over time (Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014),
// with the reset gate inside the product, as in cuDNN and torch.nn.GRU:
//
//     r = sigmoid(x_r + u_r)      z = sigmoid(x_z + u_z)      [x_r; x_z; x_n] = input_t, [u_r; u_z; u_n] = w h_(t-1) + b
//     n = tanh(x_n + r * u_n)
//     h_t = (1 - z) * n + z * h_(t-1)
//
//     Variable h = gru(linear(x, w_x, b_x), w, b, {.lengths = lengths});      // h of all positions
//
// Shapes: input (B,T,3W), already projected, for all positions at once; w (3W,W), b (3W), optional; h (B,T,W); the
// initial state (B,W). Lengths and reverse: see recurrence.h. One op with its own backward: gates are not separate
// tensors, and the gradient of w is one product over all positions. Errors: shapes that do not fit together,
// lengths outside [0, T].
#pragma once

#include "qkv/op/recurrence.h"

namespace qkv {

Variable gru(const Variable& input, const Weight& w, const Variable& b, const RecurrenceOptions& options = {});

}  // namespace qkv
