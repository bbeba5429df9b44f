// Multi-token attention: the weight of a key for a query also depends on neighboring queries and keys and on other
// heads (Golovneva et al., "Multi-Token Attention", 2025).
//
//     A = scale Q K^T
//     A = convolve(A, pre_conv)                 A'[g] = sum_h pre_mix[g][h] A[h]
//     P = softmax over the visible keys of A
//     P = mask(convolve(P, post_conv))          P'[o] = sum_h post_head[group][h][o] P[h], or post_mix like pre_mix
//     P = dropout(P)
//     out = P V
//
//     convolve(X, K)[i][j] = sum_a sum_b K[a][b] X[i - (c_q - 1) + a][j - before + b]     a < c_q, b < c_k
//
// Each head has its own convolution, which reads masked pairs and pairs outside the matrix as 0, and no later
// queries. Steps without a parameter are left out. Rows of the resulting P need not sum to 1. With the same seed
// and stream, dropout keeps the pairs that weight_dropout() keeps in attention().
//
//     MultiTokenOptions options = {.pre_conv = taps, .pre_mix = mix, .mask = causal()};
//     Variable y = multi_token_attention(q, k, v, options);
//     y = gate_heads(normalize_heads(y, weight), gate_weight, gate_bias);
//
// Shapes      q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), all f32 or all bf16 (computed in f32); out (B,H,T,E) in the
//             memory order of q; weights (B,H,T,S), P as it multiplies V. pre_conv, post_conv (H,1,c_q,c_k);
//             pre_mix, post_mix (H,H); post_head (H/c,c,c), mixing groups of c consecutive heads.
// Memory      a block of at most 64 query rows of all heads at a time: O(H S), not O(H T S), forward and backward.
// Guarantees  those of attention(): a query without visible keys has a zero output and zero gradients; results do
//             not depend on threads or on other rows of the batch, bit for bit.
// Errors      Error, with the shapes, when they do not fit together.
#pragma once

#include <optional>

#include "qkv/attention/mask/mask.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/autograd/variable.h"

namespace qkv {

// The position of a key among the c_k keys that a convolution reads: in the middle (c_k is odd), last or first.
enum class PadKey { both, left, right };

struct MultiTokenOptions {
  Variable pre_conv = {};
  Variable pre_mix = {};
  Variable post_conv = {};
  Variable post_head = {};  // or post_mix, not both
  Variable post_mix = {};
  PadKey pad_key = PadKey::both;
  MaskPtr mask = nullptr;
  WeightDropout dropout = {};
  std::optional<float> scale = {};  // default: 1/sqrt(D)
  // Number of leading queries that only the convolutions read; out and weights have the queries after them.
  int64_t history = 0;
};

struct MultiTokenResult {
  Variable out;
  Tensor weights;
};

Variable multi_token_attention(const Variable& q, const Variable& k, const Variable& v,
                               const MultiTokenOptions& options = {});
MultiTokenResult multi_token_attention_with_weights(const Variable& q, const Variable& k, const Variable& v,
                                                    const MultiTokenOptions& options = {});

// The number of earlier queries that the result of a query depends on: c_q - 1 for each of the two convolutions.
int64_t history_of(const MultiTokenOptions& options);

// Applied to out (B,H,T,E) by the paper, for each head. The norm: root mean square over E, times weight (E), times
// 1 - lambda (lambda = 0.8 - 0.6 exp(-0.3 layer), or 0). The gate: out sigmoid(W out + b); W (1,E) is one gate per
// head, W (E,E) one per element. out is f32 or bf16 (computed in f32, rounded once), parameters are f32.
Variable normalize_heads(const Variable& out, const Variable& weight, float eps = 1e-5f, float lambda = 0.0f);
Variable gate_heads(const Variable& out, const Variable& weight, const Variable& bias);

}  // namespace qkv
