// A decoder layer (Vaswani et al., 2017, figure 1, right): causal self-attention, cross-attention to the output of
// the encoder, then the feed-forward network, each in a residual connection.
//
//     DecoderLayer layer({.d_model = 512, .heads = 8, .ffn = 2048});
//     Variable y = layer.forward(x, causal(), layer.cross_attention.project(memory, memory, lengths),
//                                padding(lengths), pass);
//
// Parameters: self_attention, norm1, cross_attention, norm2, feed_forward, norm3.
#pragma once

#include "qkv/layer/encoder_layer.h"

namespace qkv {

class DecoderLayer final : public Module {
 public:
  using KeyValues = MultiHeadAttention::KeyValues;

  explicit DecoderLayer(const LayerOptions& options);

  // x (B,T,C); memory: cross_attention.project() of the encoder's output.
  Variable forward(const Variable& x, const MaskPtr& self_mask, const KeyValues& memory, const MaskPtr& memory_mask,
                   Pass& pass) const;

  // A decoding step: x (R,1,C) is the next position of R = B * beam hypotheses, those of a sentence adjacent, with
  // their earlier positions in the cache. The hypotheses of a sentence share a row of the memory (B,G,S,D), which
  // is not repeated.
  Variable step(const Variable& x, AttentionCache& cache, const KeyValues& memory, const MaskPtr& memory_mask,
                Pass& pass) const;

  void list(ModuleContents& contents) const override;

  MultiHeadAttention self_attention;
  LayerNorm norm1;
  MultiHeadAttention cross_attention;
  LayerNorm norm2;
  FeedForward feed_forward;
  LayerNorm norm3;

 private:
  Residual residual_;
};

}  // namespace qkv
