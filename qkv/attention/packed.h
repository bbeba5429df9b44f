// Attention over sequences of unequal lengths, stored one after another without padding: nothing is computed for
// positions that do not exist.
//
//     Tensor y = attention_packed(q, k, v, {0, 5, 12}, {0, 7, 9}, {.mask = causal()});   // two sequences
//     Tensor z = attention_packed(x, x, x, offsets, offsets);                            // self-attention
//
// Shapes   q (T,H,D), k (S,G,D), v (S,G,E), T and S being the totals; out (T,H,E).
//          Sequence n has the queries [q_offsets[n], q_offsets[n + 1]) and the keys [k_offsets[n], k_offsets[n +
//          1]); offsets begin with 0, never fall, and end with T or S. A sequence may be empty. To masks and
//          modifiers every sequence is a call of its own with B = 1: query 0 is its first query.
// Errors   Error, naming the offset, when offsets are not of this form; those of attention(). The score location()
//          is not for packed sequences.
//
// Differentiable like attention(). A sequence has the same bits as in a call of its own.
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
