// What gru() and lstm() share: the loop over time of a recurrent layer, forward and backward. A cell computes one
// row of one position; the product of the states with the recurrent weights, and the gradients of the weights, are
// here.
//
//     hidden_t = h_(t-1) W^T + b,    state_t = cell(input_t, hidden_t, state_(t-1))
//
//     Variable states = recurrence(gru_cell, input, w, b, {.lengths = lengths});
//
// The state is `parts` vectors of W numbers, of which the first is h. Beyond the length of a row its state is
// carried through unchanged, also in reverse, where a row therefore begins with its own last position. A row has
// the same bits whatever the rest of the batch and the padding.
#pragma once

#include "qkv/op/weight.h"

namespace qkv {

struct RecurrenceOptions {
  Variable initial = {};  // (B, parts W), the state before the first position; none: zeros
  Tensor lengths = {};    // (B) i32; none: T each
  bool reverse = false;   // from the last position to the first
};

// `saved` (saved_width W) is what the forward of a row keeps for its backward.
struct RecurrenceCell {
  static constexpr int64_t saved_width = 4;
  // Where the backward of a row writes: `input` and `hidden` (gates W each), and `state`, which holds the gradient
  // of the state and becomes that of the state before, without the part that flows through `hidden`.
  struct Gradients {
    float *input, *hidden, *state;
  };

  const char* name;
  int64_t gates, parts;
  bool sums_hidden;  // reads only input + hidden: `hidden` and `input` have the same gradient and memory
  void (*forward)(int64_t W, const float* input, const float* hidden, const float* before, float* saved,
                  float* after);
  void (*backward)(int64_t W, const float* saved, const float* before, const float* after, const Gradients& d);
};

// input (B,T,gates W), w (gates W, W), b (gates W), optional; the states (B,T,parts W).
Variable recurrence(const RecurrenceCell& cell, const Variable& input, const Weight& w, const Variable& b,
                    const RecurrenceOptions& options);

}  // namespace qkv
