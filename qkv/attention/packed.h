// Attention over a packed (variable-length, "varlen") batch: sequences stored one after another without padding.
//
//     Tensor y = attention_packed(q, k, v, {0, 5, 12}, {0, 7, 9}, {.mask = causal()});   // two sequences
//     Tensor z = attention_packed(x, x, x, offsets, offsets);                            // self-attention
//
// Shapes   q (T,H,D), k (S,G,D), v (S,G,E) with T and S the totals; out (T,H,E).
//          Sequence n has queries [q_offsets[n], q_offsets[n + 1]) and keys [k_offsets[n], k_offsets[n + 1]).
//          Offsets begin with 0, do not decrease, and end with T or S; a sequence may be empty. Masks and modifiers
//          see every sequence as a call with B = 1, whose query 0 is its first query.
// Errors   those of attention(); offsets that are not of this form; a location() score.
//
// Differentiable like attention(). Each sequence has the bits of attention() on it alone.
#pragma once

#include <span>

#include "qkv/attention/attention.h"

namespace qkv {

using Offsets = std::vector<int64_t>;

Tensor attention_packed(const Tensor& q, const Tensor& k, const Tensor& v, const Offsets& q_offsets,
                        const Offsets& k_offsets, const AttentionOptions& options = {});
Variable attention_packed(const Variable& q, const Variable& k, const Variable& v, const Offsets& q_offsets,
                          const Offsets& k_offsets, const AttentionOptions& options = {});

}  // namespace qkv
