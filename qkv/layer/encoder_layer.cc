#include "qkv/layer/encoder_layer.h"

namespace qkv {

MultiHeadAttentionOptions LayerOptions::attention(AttentionUse use) const {
  return {.d_model = d_model,
          .heads = heads,
          .kv_heads = kv_heads,
          .bias = attention_bias,
          .variant = use == AttentionUse::cross ? cross_attention : self_attention,
          .use = use,
          .dropout = attention_dropout,
          .layer = index};
}

EncoderLayer::EncoderLayer(const LayerOptions& o)
    : self_attention(o.attention(AttentionUse::encoder)),
      norm1({o.d_model, "C"}, o.norm_eps),
      feed_forward({.d_model = o.d_model, .ffn = o.ffn, .activation = o.activation, .dropout = o.ffn_dropout}),
      norm2({o.d_model, "C"}, o.norm_eps),
      residual_{o.norm_order, o.dropout} {}

Variable EncoderLayer::forward(const Variable& x, const MaskPtr& mask, Pass& pass) const {
  const Variable y =
      residual_(x, norm1, pass, [&](const Variable& z) { return self_attention.forward(z, mask, pass); });
  return residual_(y, norm2, pass, [&](const Variable& z) { return feed_forward.forward(z, pass); });
}

void EncoderLayer::list(ModuleContents& contents) const {
  contents.child("self_attention", self_attention);
  contents.child("norm1", norm1);
  contents.child("feed_forward", feed_forward);
  contents.child("norm2", norm2);
}

}  // namespace qkv
