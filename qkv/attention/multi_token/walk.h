// The two passes of multi-token attention. Both go through the row blocks in order; a step of a block runs in
// parallel over its heads, or over its chunks of keys where heads mix. See ARCHITECTURE.md for a drawing.
#pragma once

#include "qkv/attention/multi_token/call.h"

namespace qkv {

struct MultiTokenForward {
  Tensor out;                   // (B,H,T - history,E)
  Tensor weights;               // (B,H,T - history,S), if wanted
  Tensor maximum, inverse_sum;  // (B,H,T): of the softmax; 0 and 0 for a query that sees nothing
};
MultiTokenForward multi_token_forward(const MultiTokenCall& call, bool with_weights);

// parameters: those that are given, in the order pre_conv, pre_mix, post_conv, post_head or post_mix.
struct MultiTokenGradients {
  Tensor dq, dk, dv;
  std::vector<Tensor> parameters = {};
};
MultiTokenGradients multi_token_backward(const MultiTokenCall& call, const MultiTokenForward& forward,
                                         const Tensor& dout);

}  // namespace qkv
