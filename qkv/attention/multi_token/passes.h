// The forward and the backward pass of multi-token attention (a drawing is in ARCHITECTURE.md). Both iterate over
// the row blocks in order; a step of a block runs in parallel over its heads, or, to mix heads, over chunks of
// keys.
#pragma once

#include "qkv/attention/multi_token/call.h"

namespace qkv::internal {

struct MultiTokenForward {
  Tensor out;                   // (B,H,T - history,E)
  Tensor weights;               // (B,H,T - history,S), if requested
  Tensor maximum, inverse_sum;  // (B,H,T): of the softmax; 0 and 0 for a query without visible keys
};
MultiTokenForward multi_token_forward(const MultiTokenCall& call, bool with_weights);

// parameters: of those that are given, in the order pre_conv, pre_mix, post_conv, post_head or post_mix.
struct MultiTokenGradients {
  Tensor dq, dk, dv;
  std::vector<Tensor> parameters = {};
};
MultiTokenGradients multi_token_backward(const MultiTokenCall& call, const MultiTokenForward& forward,
                                         const Tensor& dout);

}  // namespace qkv::internal
