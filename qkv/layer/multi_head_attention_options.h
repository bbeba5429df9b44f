// The options of multi-head attention (multi_head_attention.h).
//
//     MultiHeadAttentionOptions options = {.d_model = 512, .heads = 8, .kv_heads = 2, .variant = SlidingWindow{64}};
//     MultiHeadAttention layer(options);
//     options.size().head_width                               // 64
#pragma once

#include <optional>

#include "qkv/layer/attention_variant.h"
#include "qkv/layer/norm.h"

namespace qkv {

// Which projections have a bias: all, none, or each by choice.
//
//     MultiHeadAttention layer({.d_model = 512, .heads = 8, .bias = {.query = true, .key = true, .value = true, .out = false}});
struct ProjectionBias {
  bool query = true, key = true, value = true, out = true;
};
inline constexpr ProjectionBias no_projection_bias = {.query = false, .key = false, .value = false, .out = false};

struct MultiHeadAttentionOptions {
  int64_t d_model = 0;      // C, width of the output
  int64_t heads = 1;        // H
  int64_t kv_heads = 0;     // G, divides H; 0: H
  int64_t head_width = 0;   // D; 0: C / H, and H must divide C
  int64_t query_width = 0;  // of the source of the queries; 0: C
  int64_t key_width = 0;    // of the source of the keys; 0: C
  int64_t value_width = 0;  // of the source of the values; 0: C
  ProjectionBias bias = {};
  std::optional<NormOptions> query_key_norm = {};  // normalize the queries and keys of every head, before rotary
  bool fused_qkv = false;                          // one Linear for queries, keys and values; self-attention only
  AttentionVariant variant = {};
  AttentionUse use = AttentionUse::encoder;
  float dropout = 0.0f;  // of attention weights
  int64_t layer = 0;     // its index in the attention log

  AttentionSize size() const;
  // With the numbers that 0 stands for. UsageError if they do not fit together.
  MultiHeadAttentionOptions completed() const;
};

}  // namespace qkv
