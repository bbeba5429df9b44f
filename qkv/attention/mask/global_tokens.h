// Global tokens: positions that see all keys and are seen by all queries, of every row of a batch by itself (Beltagy et
// al., "Longformer", 2020, section 3.1).
//
//     visible(b, i, j)  <=>  token p of row b is global, or token j is        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = (window(256) | global_tokens(tokens)) & padding(lengths)});
//
// tokens: i32 (B or 1, S), not 0 where a token is global. For the same positions in all rows: global_positions.h.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr global_tokens(const Tensor& tokens);

}  // namespace qkv
