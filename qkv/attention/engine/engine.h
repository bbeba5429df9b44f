// The engine: FlashAttention-style passes (Dao et al., 2022) that iterate over the tiles of a call. None stores a
// (T, S) array, except attention_weights(), whose result it is. ARCHITECTURE.md has a drawing.
#pragma once

#include "qkv/attention/engine/tiles.h"

namespace qkv::internal {

// out (B,H,T,E), of the type and in the memory order of q, and the softmax statistics, if the call keeps them.
struct ForwardResult {
  Tensor out;
  SoftmaxStatistics statistics;
};
ForwardResult forward_pass(const AttentionCall& call);
ForwardResult empty_result(const AttentionCall& call);

// The single-query algorithm (single.cc), and the scores of a tile with its bits: weights are computed from
// them, because the statistics that normalize the weights are.
void forward_single_queries(const AttentionCall& call, ForwardResult& result);
void single_query_scores(const AttentionCall& call, const Tile& tile, float* s);
void write_statistics(SoftmaxStatistics& statistics, const QueryBlock& rows, const kernel::RunningSoftmax& running);

// log sum exp of the visible scores, (B,H,T).
Tensor log_sum_exp(const SoftmaxStatistics& statistics);

// The weights that multiply V, (B,H,T,S), from recomputed scores.
Tensor attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics);
// Their mean over the heads, (B,T,S), one tile of one head at a time.
Tensor mean_attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics);

// Gradients of the prepared q and k, of v, and of the parameters of the score, the modifiers, the normalizer and
// the reweighers, in this order. dq, dk and dv are of the type of q, or of a given one.
struct BackwardResult {
  Tensor dq, dk, dv;
  std::vector<Tensor> parameters;
};
BackwardResult backward_pass(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout);
BackwardResult backward_pass(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout,
                             DType type);

}  // namespace qkv::internal
