// Absolute position bias: a learned number for every head and pair of a query's and a key's position, whatever the
// tokens are (a random Synthesizer added to dot products: Tay et al., "Synthesizer: Rethinking Self-Attention for
// Transformer Models", 2021, section 3.2). Queries and keys at positions from N on have none.
//
//     s_ij <- s_ij + table[h, p_i, j]   if 0 <= p_i < N and j < N           p_i = i + S - T;  table (H, N, N)
//
//     Variable y = attention(q, k, v, {.modify = {absolute_bias(table)}});
//
// bias(), in contrast, has the T and S of the call. Where only the distance matters, relative_bias() and alibi()
// need fewer numbers and have no longest position. The table may have any strides. Errors: a table of another
// shape, or of another number of heads.
#pragma once

#include "qkv/attention/modify/modifier.h"

namespace qkv {

ModifierPtr absolute_bias(const Variable& table);

}  // namespace qkv
