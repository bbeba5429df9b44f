// Location-based score (Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine
// Translation", 2015, section 3.1, "location"): the scores depend on the query and the positions of the keys, not
// on the keys.
//
//     s_ij = (w q_i)_j          w (rows, Dq): a row for every key position; no scale
//
//     Tensor y = attention(q, k, v, {.score = location(w)});          // only the shape of k is read
//
// If S exceeds the rows of w, the keys after them are masked. Computed as a dot product with the rows of w.
// Errors: a w that does not fit the width of the queries.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr location(const Variable& w);

}  // namespace qkv
