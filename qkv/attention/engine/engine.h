// The passes of the engine. Each walks over the tiles of a call; none makes a (T, S) array but the one whose result
// it is. See ARCHITECTURE.md for a drawing.
#pragma once

#include "qkv/attention/engine/tiles.h"

namespace qkv {

// out (B,H,T,E), of the type and in the memory order of q, and the statistics.
struct ForwardResult {
  Tensor out;
  SoftmaxStatistics statistics;
};
ForwardResult forward_pass(const AttentionCall& call);

// The forward of few queries over many keys (single.cc): whether a call is of that kind, its pass, and the scores
// of a tile as that pass sums them. (Weights must come from the same bits as the statistics they are divided by; so
// a call that wants a backward, which has no such pass, goes the common way.)
bool are_single_queries(const AttentionShape& shape, const AttentionOptions& options);
void forward_single_queries(const AttentionCall& call, ForwardResult& result);
void single_query_scores(const AttentionCall& call, const Tile& tile, float* s);
void write_statistics(SoftmaxStatistics& statistics, const QueryBlock& block,
                      const kernel::RunningSoftmax& running);

// log sum exp of the visible scores, (B,H,T).
Tensor log_sum_exp(const SoftmaxStatistics& statistics);

// The weights that multiply V, (B,H,T,S): scores computed again, exp, divided.
Tensor attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics);
// Their mean over the heads, (B,T,S): never more than a tile of a single head exists.
Tensor mean_attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics);

// Gradients of the prepared q, k, of v, and of the parameters of the parts: the score's, the modifiers', the
// normalizer's, the reweighers'.
struct BackwardResult {
  Tensor dq, dk, dv;
  std::vector<Tensor> parameters;
};
BackwardResult backward_pass(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout);

}  // namespace qkv
