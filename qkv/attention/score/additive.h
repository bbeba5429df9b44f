// Additive score, with separate weights (Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly Learning
// to Align and Translate", 2015, appendix A.1.2), or with one matrix whose first columns are those of the query
// (Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine Translation", 2015, "concat").
//
//     additive(w_q, w_k, w_v)   s_ij = w_v . tanh(w_q q_i + w_k k_j)   w_q (F, Dq), w_k (F, Dk), w_v (F)
//     concat(w, w_v)            s_ij = w_v . tanh(w [q_i ; k_j])       w (F, Dq + Dk), w_v (F)
//     additive(w_v)             s_ij = w_v . tanh(q_i + k_j)           of queries and keys of width F that are
//                                                                      projected once, for many calls
//
//     Tensor y = attention(q, k, v, {.score = additive(w_q, w_k, w_v)});
//
// No biases, no scale. Queries and keys may have different widths. The (T, S, F) features are never stored.
// Errors: shapes that do not agree in F, or with the widths of queries and keys.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr additive(const Variable& w_q, const Variable& w_k, const Variable& w_v);
ScorePtr additive(const Variable& w_v);
ScorePtr concat(const Variable& w, const Variable& w_v);

}  // namespace qkv
