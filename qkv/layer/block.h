// A block of a Transformer (Vaswani et al., 2017, figure 1): self-attention, then, in the decoder of an
// encoder-decoder, cross-attention to the encoder's output, then the feed-forward network, each in a residual
// connection (residual.h).
//
//     Block encoder({.d_model = 512, .heads = 8, .ffn = 2048});
//     Variable y = encoder.forward(x, padding(lengths), pass);                                       // (B,S,C)
//
//     Block decoder({.d_model = 512, .heads = 8, .ffn = 2048, .use = AttentionUse::decoder, .has_cross_attention = true});
//     Variable z = decoder.forward(x, causal(), decoder.memory(y, lengths), pass);                   // (B,T,C)
//
// Parameters: self_attention, norm1, cross_attention, norm2, feed_forward, norm3 (norm2 without cross-attention). The
// order "sandwich" has output_norm1 after norm1 and so on; the order "parallel-shared" has only norm1.
#pragma once

#include "qkv/layer/feed_forward.h"
#include "qkv/layer/multi_head_attention.h"
#include "qkv/layer/residual.h"

namespace qkv {

struct BlockOptions {
  int64_t d_model = 0;                       // C
  int64_t heads = 1;                         // H
  int64_t kv_heads = 0;                      // G; 0: H
  int64_t head_width = 0;                    // D; 0: C / H
  int64_t ffn = 0;                           // F
  AttentionUse use = AttentionUse::encoder;  // of self-attention
  bool has_cross_attention = false;
  NormOrder norm_order = NormOrder::post;
  NormOptions norm = {};
  Activation activation = Activation::relu;
  bool gated_ffn = false;
  ProjectionBias attention_bias = {};
  bool ffn_bias = true;
  bool query_key_norm = false;     // normalize the queries and keys of every head
  float dropout = 0.0f;            // of the output of every sublayer
  float attention_dropout = 0.0f;  // of attention weights
  float ffn_dropout = 0.0f;        // of the activations of the feed-forward network
  AttentionVariant self_attention = {}, cross_attention = {};
  int64_t index = 0;  // of the block in its stack, for the attention log

  MultiHeadAttentionOptions attention(AttentionUse attention_use) const;
};

class Block final : public Module {
 public:
  // The input of cross-attention: the keys and values of the encoder's output, and which of them are visible.
  struct Memory {
    MultiHeadAttention::KeyValues keys_values;
    MaskPtr mask;
  };

  explicit Block(const BlockOptions& options);

  // x (B,T,C)
  Variable forward(const Variable& x, const MaskPtr& mask, Pass& pass) const;
  Variable forward(const Variable& x, const MaskPtr& mask, const Memory& memory, Pass& pass) const;

  // Decoding: x (N,C) holds the new positions of several segments, one segment after the other, as in
  // MultiHeadAttention::extend(). Rows that share a row of the memory (B,G,S,D), the hypotheses of a sentence, are
  // adjacent; the memory is not repeated. A block without cross-attention has no segments of it.
  using SelfSegment = MultiHeadAttention::SelfSegment;
  using CrossSegment = MultiHeadAttention::CrossSegment;
  Variable extend(const Variable& x, std::span<const SelfSegment> self, std::span<const CrossSegment> cross,
                  Pass& pass) const;

  // encoded (B,S,C), lengths (B) of its rows; later positions are not visible.
  Memory memory(const Variable& encoded, const std::vector<int32_t>& lengths) const;

  void list(ModuleContents& contents) const override;

  MultiHeadAttention self_attention;
  std::optional<MultiHeadAttention> cross_attention;
  FeedForward feed_forward;
  std::vector<Residual> residuals;  // of the sublayers, in this order

 private:
  template <class SelfAttention, class CrossAttention>
  Variable apply(const Variable& x, Pass& pass, SelfAttention self, CrossAttention cross) const;

  NormOrder order_;
};

}  // namespace qkv
