// Additive attention (Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly Learning to Align and
// Translate", 2015, appendix A.1.2); the same as Luong's "concat" with w = [w_q ; w_k].
//
//     s_ij = w_v . tanh(w_q q_i + w_k k_j)        w_q (F, Dq), w_k (F, Dk), w_v (F); no biases, no scale
//
//     Tensor y = attention(q, k, v, {.score = additive(w_q, w_k, w_v)});
//
// Queries and keys may have different widths. The (T, S, F) features are never stored.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr additive(const Variable& w_q, const Variable& w_k, const Variable& w_v);

}  // namespace qkv
