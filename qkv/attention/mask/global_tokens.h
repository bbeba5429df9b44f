// Global tokens: positions that see all keys and are seen by all queries, given for each row of a batch (Beltagy et
// al., "Longformer", 2020, section 3.1).
//
//     visible(b, i, j)  <=>  token p of row b is global, or token j is        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = (window(256) | global_tokens(tokens)) & padding(lengths)});
//
// tokens: i32 (B or 1, S), nonzero where a token is global. For the same positions in all rows: global_positions.h.
// Errors: tokens of another shape or type.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr global_tokens(const Tensor& tokens);

}  // namespace qkv
