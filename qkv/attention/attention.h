// Attention: the output of a query is the average of the values, weighted by how well their keys match it.
//
//     out_i = sum_j w_ij v_j,   w_i = softmax over the visible j of score(q_i, k_j)
//
//     Tensor y = attention(q, k, v);                                          // softmax(Q K^T / sqrt(D)) V
//     Tensor z = attention(q, k, v, {.mask = causal() & padding(lengths)});
//     auto [out, weights, lse] = attention_with_weights(q, k, v);
//
// Shapes      q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), all f32 or all bf16; out (B,H,T,E) of the same type; weights
//             (B,H,T,S) and lse (B,H,T) f32. Sums are f32 for both types.
//             H is a multiple of G: query head h reads key/value head h * G / H (grouped-query and multi-query
//             attention). Any strides with a contiguous last axis: a transposed view of (B,T,H,D) memory is not
//             copied, and out has the memory order of q.
// Guarantees  A query without visible keys has a zero output, zero weights, lse = -infinity and zero gradients.
//             Results do not depend on the number of threads, on padding or on other rows of the batch, bit for
//             bit. (A call with T = 1 and no gradient to record, as in decoding, takes the single-query algorithm: its
//             last bits may differ from those of the same query among others.)
//             No (T, S) array is stored, unless the weights are requested.
// Errors      Error, with the shapes, when they do not fit together.
//
// With Variables the call is differentiable in q, k, v and the parameters of its mechanisms. No gradient flows
// through weights and lse.
//
// Vaswani et al., "Attention Is All You Need", 2017. Computed tile by tile with an online softmax: Dao et al.,
// "FlashAttention", 2022.
#pragma once

#include "qkv/attention/cache.h"
#include "qkv/attention/options.h"
#include "qkv/autograd/variable.h"

namespace qkv {

struct AttentionResult {
  Tensor out, weights, lse;
};
struct AttentionVariableResult {
  Variable out;
  Tensor weights, lse;
};

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});
Variable attention(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options = {});
// The keys and values of a cache in any format, which the single-query algorithm reads as they are stored. out is of
// the type of q.
Tensor attention(const Tensor& q, const KeyValueCache& cache, const AttentionOptions& options = {});

AttentionResult attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const AttentionOptions& options = {});
AttentionVariableResult attention_with_weights(const Variable& q, const Variable& k, const Variable& v,
                                               const AttentionOptions& options = {});
// weights: their mean over the heads, (B,T,S), computed without the memory for those of all heads.
AttentionResult attention_with_mean_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const AttentionOptions& options = {});

}  // namespace qkv
