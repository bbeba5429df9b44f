// Bilinear score (Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine Translation",
// 2015, "general"). Queries and keys may have different widths.
//
//     s_ij = q_i^T m k_j          m (Dq, Dk); no scale
//
//     Tensor y = attention(q, k, v, {.score = bilinear(m)});          // q (B,H,T,Dq), k (B,G,S,Dk)
//
// Queries are projected once; the rest is a dot product. Errors: an m that does not fit the widths.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr bilinear(const Variable& m);

}  // namespace qkv
