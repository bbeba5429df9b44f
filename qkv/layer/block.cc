#include "qkv/layer/block.h"

#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"
#include "qkv/op/shape.h"

namespace qkv {

MultiHeadAttentionOptions BlockOptions::attention(AttentionUse attention_use) const {
  MultiHeadAttentionOptions o = {.d_model = d_model,
                                 .heads = heads,
                                 .kv_heads = kv_heads,
                                 .head_width = head_width,
                                 .bias = attention_bias,
                                 .variant = attention_use == AttentionUse::cross ? cross_attention : self_attention,
                                 .use = attention_use,
                                 .dropout = attention_dropout,
                                 .layer = index};
  if (query_key_norm) o.query_key_norm = norm;
  return o;
}

Block::Block(const BlockOptions& o)
    : self_attention(o.attention(o.use)),
      feed_forward({.d_model = o.d_model,
                    .ffn = o.ffn,
                    .activation = o.activation,
                    .gated = o.gated_ffn,
                    .bias = o.ffn_bias,
                    .dropout = o.ffn_dropout}),
      order_(o.norm_order) {
  if (o.has_cross_attention) cross_attention.emplace(o.attention(AttentionUse::cross));
  for (int sublayer = 0; sublayer < (cross_attention ? 3 : 2); ++sublayer)
    residuals.emplace_back(o.norm_order, Axis(o.d_model, "C"), o.norm, o.dropout);
}

template <class SelfAttention, class CrossAttention>
Variable Block::apply(const Variable& x, Pass& pass, SelfAttention self, CrossAttention cross) const {
  const auto ffn = [&](const Variable& z) { return feed_forward.forward(z, pass); };
  if (!is_parallel(order_)) {
    Variable y = residuals.front()(x, pass, self);
    if (cross_attention) y = residuals[1](y, pass, cross);
    return residuals.back()(y, pass, ffn);
  }
  const Variable first = residuals.front().norm.forward(x);
  const auto normed = [&](const Residual& residual) {
    return order_ == NormOrder::parallel_shared ? first : residual.norm.forward(x);
  };
  Variable y = residuals.front().add_to(x, self(first), pass);
  if (cross_attention) y = residuals[1].add_to(y, cross(normed(residuals[1])), pass);
  return residuals.back().add_to(y, ffn(normed(residuals.back())), pass);
}

Variable Block::forward(const Variable& x, const MaskPtr& mask, Pass& pass) const {
  require(!cross_attention, "Block::forward", "this block has cross-attention: it needs a memory");
  const auto self = [&](const Variable& z) { return self_attention.forward(z, mask, pass); };
  return apply(x, pass, self, self);
}

Variable Block::forward(const Variable& x, const MaskPtr& mask, const Memory& memory, Pass& pass) const {
  require(cross_attention.has_value(), "Block::forward", "this block has no cross-attention for a memory");
  return apply(
      x, pass, [&](const Variable& z) { return self_attention.forward(z, mask, pass); },
      [&](const Variable& z) { return cross_attention->attend(z, memory.keys_values, memory.mask, pass); });
}

Variable Block::extend(const Variable& x, std::span<const SelfSegment> self, std::span<const CrossSegment> cross,
                       Pass& pass) const {
  require(!cross_attention || !cross.empty(), "Block::extend", "this block has cross-attention: it needs a memory");
  require(cross_attention || cross.empty(), "Block::extend", "this block has no cross-attention for a memory");
  return apply(
      x, pass, [&](const Variable& z) { return self_attention.extend(z, self, pass); },
      [&](const Variable& z) { return cross_attention->extend(z, cross, pass); });
}

Block::Memory Block::memory(const Variable& encoded, const std::vector<int32_t>& lengths) const {
  require(cross_attention.has_value(), "Block::memory", "this block has no cross-attention");
  const Tensor as_tensor = Tensor::from(lengths, {static_cast<int64_t>(lengths.size())});
  return {cross_attention->project(encoded, encoded, as_tensor), padding(lengths)};
}

void Block::list(ModuleContents& contents) const {
  int sublayer = 0;
  const auto norms = [&] {
    const Residual& residual = residuals[sublayer++];
    if (order_ == NormOrder::parallel_shared && sublayer > 1) return;
    contents.child(fmt::format("norm{}", sublayer), residual.norm);
    if (residual.output_norm) contents.child(fmt::format("output_norm{}", sublayer), *residual.output_norm);
  };
  contents.child("self_attention", self_attention);
  norms();
  if (cross_attention) {
    contents.child("cross_attention", *cross_attention);
    norms();
  }
  contents.child("feed_forward", feed_forward);
  norms();
}

}  // namespace qkv
