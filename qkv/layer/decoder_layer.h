// A decoder layer (Vaswani et al., 2017, figure 1, right): causal self-attention, attention to the encoder's
// output, then the feed-forward network, each in a residual connection.
//
//     DecoderLayer layer({.width = 512, .heads = 8, .hidden = 2048});
//     Variable y = layer.forward(x, causal(), layer.cross_attention.project(memory, memory, lengths),
//                                padding(lengths), pass);
//
// Parameters: self_attention, norm1, cross_attention, norm2, feed_forward, norm3.
#pragma once

#include "qkv/layer/encoder_layer.h"

namespace qkv {

class DecoderLayer {
 public:
  using KeyValues = MultiHeadAttention::KeyValues;

  explicit DecoderLayer(const LayerOptions& options);

  // x (B,T,C); memory: what cross_attention.project() made of the encoder's output, once for all positions.
  Variable forward(const Variable& x, const MaskPtr& self_mask, const KeyValues& memory, const MaskPtr& memory_mask,
                   Pass& pass) const;

  // One more position of every hypothesis: x (R,1,C) with its own past in the cache. The R = B * beam hypotheses
  // are sentence after sentence, and those of one sentence are queries of one row against the same memory
  // (B,G,S,D): it is never repeated.
  Variable step(const Variable& x, AttentionCache& cache, const KeyValues& memory, const MaskPtr& memory_mask,
                Pass& pass) const;

  void visit(const std::string& prefix, const ParameterVisitor& visitor);
  void initialise(const std::string& prefix, uint64_t seed);

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
