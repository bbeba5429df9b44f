// The passes of the engine. Each walks over the tiles of a call; none makes a (T, S) array but the one whose result
// it is. See ARCHITECTURE.md for a drawing.
#pragma once

#include "qkv/attention/engine/walk.h"

namespace qkv {

// out (B,H,T,E), of the type and in the memory order of q, and the statistics.
struct ForwardResult {
  Tensor out;
  SoftmaxStatistics statistics;
};
ForwardResult attention_forward(const AttentionCall& call);

// The forward of few queries over many keys: whether a call is one, and its pass (single.cc).
bool is_single_query(int64_t T);
bool runs_single_queries(const AttentionCall& call);
void forward_single_queries(const AttentionCall& call, ForwardResult& result);
void write_statistics(SoftmaxStatistics& statistics, const QueryBlock& block,
                      const kernel::RunningSoftmax& running);

// log sum exp of the visible scores, (B,H,T).
Tensor log_sum_exp(const SoftmaxStatistics& statistics);

// The weights that multiply V, (B,H,T,S): scores computed again, exp, divided.
Tensor attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics);
// Their mean over the heads, (B,T,S): never more than a tile of a single head exists.
Tensor mean_attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics);

// Gradients of the prepared q, k, of v, and of the parameters of the parts: the score's, the modifiers', the
// normalizer's.
struct BackwardResult {
  Tensor dq, dk, dv;
  std::vector<Tensor> parameters;
};
BackwardResult attention_backward(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout);

}  // namespace qkv
