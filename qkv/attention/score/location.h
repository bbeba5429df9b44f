// Location-based score (Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine
// Translation", 2015, section 3.1, "location"): a query says where to look, whatever the keys are.
//
//     s_ij = (w q_i)_j          w (rows, Dq): a row for every position of a key; no scale
//
//     Tensor y = attention(q, k, v, {.score = location(w)});          // of k only the shape is read
//
// With more rows than keys the first S count; keys behind the last row are hidden. That is a dot product with
// learnt keys, the rows of w. Errors: a w that does not fit the width of the queries.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr location(const Variable& w);

}  // namespace qkv
