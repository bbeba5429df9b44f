// BLOOM (BigScience Workshop, 2022): ALiBi, and a norm of the embeddings.
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig bloom_config(const HfConfig& hf) {
  TransformerConfig c = causal_config(hf);
  if (hf.flag("apply_residual_connection_post_layernorm", false)) c.norm_order = NormOrder::pre_residual;
  c.ffn = 4 * c.d_model;
  c.activation = Activation::gelu_tanh;
  c.norm_eps = static_cast<float>(hf.number("layer_norm_epsilon", 1e-5));
  c.embedding_norm = true;
  c.positions = Positions::alibi;
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::none;
  return c;
}

TensorNames bloom_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names("transformer.");
  const FusedRows rows = fused_rows(ours.heads, 1, ours.d_model / ours.heads);
  names.tensor("embedding.tokens", "transformer.word_embeddings.weight");
  names.norm("embedding.norm", "transformer.word_embeddings_layernorm");
  names.output("lm_head.weight");
  for_each_layer(ours.decoder_layers, "transformer.h.", [&](const std::string& to, const std::string& from) {
    names.fused_attention(to + "self_attention", from + "self_attention.query_key_value", rows);
    names.linear(to + "self_attention.out", from + "self_attention.dense");
    names.norm(to + "norm1", from + "input_layernorm");
    names.linear(to + "feed_forward.up", from + "mlp.dense_h_to_4h");
    names.linear(to + "feed_forward.down", from + "mlp.dense_4h_to_h");
    names.norm(to + "norm2", from + "post_attention_layernorm");
  });
  names.norm("norm", "transformer.ln_f");
  return names;
}

}  // namespace

const Family family::bloom = {"bloom", bloom_config, bloom_tensors};

}  // namespace qkv
