// Multi-token attention: how much a query attends to a key depends on the neighbours of both, and on other heads
// (Golovneva et al., "Multi-Token Attention", 2025).
//
//     A = scale Q K^T
//     A = convolve(A, pre_conv)                 A'[g] = sum_h pre_mix[g][h] A[h]
//     P = softmax over the visible keys of A
//     P = hide(convolve(P, post_conv))          P'[o] = sum_h post_head[group][h][o] P[h], or post_mix like pre_mix
//     out = P V
//
//     convolve(X, K)[i][j] = sum_a sum_b K[a][b] X[i - (c_q - 1) + a][j - before + b]     a < c_q, b < c_k
//
// A convolution is one of each head; what is not visible, or outside the matrix, counts as 0 in it, and no query
// reaches for a later one. A step whose parameter is not given is left out. Rows of P need not sum to 1 in the end.
//
//     MultiTokenOptions options = {.pre_conv = taps, .pre_mix = mix, .mask = causal()};
//     Variable y = multi_token_attention(q, k, v, options);
//     y = gate_heads(normalize_heads(y, weight), gate_weight, gate_bias);
//
// Shapes   q (B,H,T,D), k (B,G,S,D), v (B,G,S,E), all f32 or all bf16 (then computed as f32); out (B,H,T,E) in the
//          memory order of q; weights (B,H,T,S), P as it multiplies V. pre_conv, post_conv (H,1,c_q,c_k);
//          pre_mix, post_mix (H,H); post_head (H/c,c,c), mixing groups of c heads that follow one another.
// Memory   a block of at most 64 query rows of all heads at a time: O(H S), never O(H T S), forward and backward.
// Laws     those of attention(): a query that sees no key gets zeros and passes none back; nothing depends on the
//          threads, nor on the other rows of the batch, bit for bit.
// Errors   Error, naming the shapes, when they do not fit together.
#pragma once

#include <optional>

#include "qkv/attention/mask/mask.h"
#include "qkv/autograd/variable.h"

namespace qkv {

// Where a key stands among those that a convolution reaches: in the middle (c_k is odd), last or first.
enum class PadKey { both, left, right };

struct MultiTokenOptions {
  Variable pre_conv = {};
  Variable pre_mix = {};
  Variable post_conv = {};
  Variable post_head = {};  // or post_mix, not both
  Variable post_mix = {};
  PadKey pad_key = PadKey::both;
  MaskPtr mask = nullptr;
  std::optional<float> scale = {};  // 1/sqrt(D) unless given
  // So many queries come first that only the convolutions look at; out and weights are of those behind them.
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

// How many queries in front of one its result depends on: c_q - 1 of each of the two convolutions.
int64_t history_of(const MultiTokenOptions& options);

// What the paper does to out (B,H,T,E) afterwards, each head by itself. The norm: root mean square over E, times
// weight (E), times 1 - lambda (lambda = 0.8 - 0.6 exp(-0.3 layer), or 0). The gate: out sigmoid(W out + b), with
// W (1,E) one gate for a head, with W (E,E) one for each number.
Variable normalize_heads(const Variable& out, const Variable& weight, float eps = 1e-5f, float lambda = 0.0f);
Variable gate_heads(const Variable& out, const Variable& weight, const Variable& bias);

}  // namespace qkv
