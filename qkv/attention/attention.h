// Attention: every query gathers values, weighted by how well its key fits.
//
//     out_i = sum_j w_ij v_j,   w_i = softmax over the visible j of score(q_i, k_j)
//
//     Tensor y = attention(q, k, v);                                          // softmax(Q K^T / sqrt(D)) V
//     Tensor z = attention(q, k, v, {.mask = causal() & padding(lengths)});
//     auto [out, weights, lse] = attention_with_weights(q, k, v);
//
// Shapes   q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), all f32 or all bf16; out (B,H,T,E) of the same type; weights
//          (B,H,T,S) and lse (B,H,T) f32. Sums are f32 for both types.
//          H is a multiple of G: query head h reads key/value head h * G / H (grouped and multi-query attention).
//          Any strides with a contiguous last axis: (B,T,H,D) callers pass a transposed view and nothing is copied;
//          out has the memory order of q.
// Laws     A query that sees no key gets a zero output, zero weights, lse = -infinity and passes back zero
// gradient.
//          Nothing depends on the number of threads, on padding, or on the other rows of the batch: bit for bit.
//          (A call with a single query, T = 1, and no gradient to record is decoding, and has a pass of its own:
//          its last bits may differ from those of the same query among others.) No (T, S) array is ever made,
//          unless the weights are asked for.
// Errors   Error, naming the shapes, when they do not fit together.
//
// With Variables the call is differentiable in q, k, v and the parameters of its parts. Weights and lse are numbers
// to look at: no gradient flows through them.
//
// Vaswani et al., "Attention Is All You Need", 2017. The walk over tiles: Dao et al., "FlashAttention", 2022.
#pragma once

#include "qkv/attention/options.h"
#include "qkv/autograd/variable.h"

namespace qkv {

struct AttentionResult {
  Tensor out, weights, lse;
};
struct AttentionVariables {
  Variable out;
  Tensor weights, lse;
};

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options = {});
Variable attention(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options = {});

AttentionResult attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const AttentionOptions& options = {});
AttentionVariables attention_with_weights(const Variable& q, const Variable& k, const Variable& v,
                                          const AttentionOptions& options = {});
// The mean of the weights over the heads, (B,T,S), without ever holding those of all heads.
AttentionResult attention_with_mean_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const AttentionOptions& options = {});

}  // namespace qkv
