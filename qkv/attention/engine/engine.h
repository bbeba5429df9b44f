// The passes of the engine. Each walks over the tiles of a call; none makes a (T, S) array but the one whose result
// it is. See ARCHITECTURE.md for a drawing.
#pragma once

#include "qkv/attention/engine/walk.h"

namespace qkv {

// out (B,H,T,E) and the statistics, allocated here; out has the memory order of q.
struct ForwardResult {
  Tensor out;
  SoftmaxStatistics statistics;
};
ForwardResult attention_forward(const AttentionCall& call);

// log sum exp of the visible scores, (B,H,T).
Tensor log_sum_exp(const SoftmaxStatistics& statistics);

// The weights that multiply V, (B,H,T,S): scores computed again, exp, divided.
Tensor attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics);

// Gradients of the prepared q, k, of v, and of the parameters of the parts (the score's first, then each
// modifier's).
struct BackwardResult {
  Tensor dq, dk, dv;
  std::vector<Tensor> parameters;
};
BackwardResult attention_backward(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout);

}  // namespace qkv
