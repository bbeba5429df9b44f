#include "qkv/layer/decoder_layer.h"

#include "qkv/base/error.h"
#include "qkv/op/shape.h"

namespace qkv {

DecoderLayer::DecoderLayer(const LayerOptions& o)
    : self_attention(o.attention(AttentionUse::decoder)),
      norm1({o.d_model, "C"}, o.norm_eps),
      cross_attention(o.attention(AttentionUse::cross)),
      norm2({o.d_model, "C"}, o.norm_eps),
      feed_forward({.d_model = o.d_model, .ffn = o.ffn, .activation = o.activation, .dropout = o.ffn_dropout}),
      norm3({o.d_model, "C"}, o.norm_eps),
      residual_{o.norm_order, o.dropout} {}

Variable DecoderLayer::forward(const Variable& x, const MaskPtr& self_mask, const KeyValues& memory,
                               const MaskPtr& memory_mask, Pass& pass) const {
  const Variable y =
      residual_(x, norm1, pass, [&](const Variable& z) { return self_attention.forward(z, self_mask, pass); });
  const Variable w = residual_(
      y, norm2, pass, [&](const Variable& z) { return cross_attention.attend(z, memory, memory_mask, pass); });
  return residual_(w, norm3, pass, [&](const Variable& z) { return feed_forward.forward(z, pass); });
}

Variable DecoderLayer::step(const Variable& x, AttentionCache& cache, const KeyValues& memory,
                            const MaskPtr& memory_mask, Pass& pass) const {
  const int64_t R = x.dim(0), B = memory.k.dim(0), C = x.dim(2), position = cache.length();
  require(x.dim(1) == 1 && B > 0 && R % B == 0, "DecoderLayer::step",
          "x must be (R,1,C) with R a multiple of the batch {} of the memory, got {}", B, x.shape());
  const Variable y =
      residual_(x, norm1, pass, [&](const Variable& z) { return self_attention.step(z, cache, pass); });
  const Variable w = residual_(reshape(y, {B, R / B, C}), norm2, pass, [&](const Variable& z) {
    return cross_attention.cross_attend_step(z, memory, memory_mask, position, pass);
  });
  return residual_(reshape(w, {R, 1, C}), norm3, pass,
                   [&](const Variable& z) { return feed_forward.forward(z, pass); });
}

void DecoderLayer::list(ModuleContents& contents) const {
  contents.child("self_attention", self_attention);
  contents.child("norm1", norm1);
  contents.child("cross_attention", cross_attention);
  contents.child("norm2", norm2);
  contents.child("feed_forward", feed_forward);
  contents.child("norm3", norm3);
}

}  // namespace qkv
