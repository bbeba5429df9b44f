// An encoder layer (Vaswani et al., 2017, figure 1, left): self-attention, then the feed-forward network, each in
// a residual connection.
//
//     EncoderLayer layer({.d_model = 512, .heads = 8, .ffn = 2048});
//     Variable y = layer.forward(x, padding(lengths), pass);             // (B,S,C)
//
// Parameters: self_attention, norm1, feed_forward, norm2.
#pragma once

#include "qkv/layer/feed_forward.h"
#include "qkv/layer/multi_head_attention.h"
#include "qkv/layer/residual.h"

namespace qkv {

// For encoder and decoder layers.
struct LayerOptions {
  int64_t d_model = 0;   // C
  int64_t heads = 1;     // H
  int64_t kv_heads = 0;  // G; 0: H
  int64_t ffn = 0;       // F
  NormOrder norm_order = NormOrder::post;
  Activation activation = Activation::relu;
  float dropout = 0.0f;            // of the output of every sublayer
  float attention_dropout = 0.0f;  // of attention weights
  float ffn_dropout = 0.0f;        // of the activations of the feed-forward network
  bool attention_bias = true;
  AttentionVariant self_attention = {}, cross_attention = {};
  float norm_eps = 1e-5f;
  int64_t index = 0;  // of the layer in its stack, for the attention log

  MultiHeadAttentionOptions attention(AttentionUse use) const;
};

class EncoderLayer final : public Module {
 public:
  explicit EncoderLayer(const LayerOptions& options);
  Variable forward(const Variable& x, const MaskPtr& mask, Pass& pass) const;
  void list(ModuleContents& contents) const override;

  MultiHeadAttention self_attention;
  LayerNorm norm1;
  FeedForward feed_forward;
  LayerNorm norm2;

 private:
  Residual residual_;
};

}  // namespace qkv
