#include "qkv/layer/multi_head_attention_options.h"

#include "qkv/base/error.h"

namespace qkv {

AttentionSize MultiHeadAttentionOptions::size() const {
  return {.use = use,
          .d_model = d_model,
          .heads = heads,
          .kv_heads = kv_heads == 0 ? heads : kv_heads,
          .head_width = head_width == 0 ? d_model / heads : head_width,
          .query_width = query_width == 0 ? d_model : query_width,
          .key_width = key_width == 0 ? d_model : key_width,
          .value_width = value_width == 0 ? d_model : value_width,
          .bias = bias.query};
}

MultiHeadAttentionOptions MultiHeadAttentionOptions::completed() const {
  MultiHeadAttentionOptions o = *this;
  if (o.kv_heads == 0) o.kv_heads = o.heads;
  for (int64_t* width : {&o.query_width, &o.key_width, &o.value_width})
    if (*width == 0) *width = o.d_model;
  require(o.heads > 0 && o.d_model > 0 && (o.head_width > 0 || o.d_model % o.heads == 0), "MultiHeadAttention",
          "heads {} must divide d_model {}, or head_width must be given", o.heads, o.d_model);
  if (o.head_width == 0) o.head_width = o.d_model / o.heads;
  require(o.kv_heads > 0 && o.heads % o.kv_heads == 0, "MultiHeadAttention", "kv_heads {} must divide heads {}",
          o.kv_heads, o.heads);
  require(!o.fused_qkv ||
              (o.use != AttentionUse::cross && o.key_width == o.query_width && o.value_width == o.query_width),
          "MultiHeadAttention", "fused projections are for self-attention only");
  require(!o.fused_qkv || (o.bias.query == o.bias.value && o.bias.key == o.bias.value), "MultiHeadAttention",
          "fused projections have a bias for queries, keys and values, or for none of them");
  require(!o.fused_qkv || !o.variant.has_global_projections(), "MultiHeadAttention",
          "longformer-separate cannot have fused projections");
  check_variant(o.variant, o.size(), "MultiHeadAttention");
  return o;
}

}  // namespace qkv
