// GPT-NeoX (Black et al., 2022) and Pythia: only a part of each head is rotated; attention and feed-forward run in
// parallel.
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig gpt_neox_config(const HfConfig& hf) {
  TransformerConfig c = causal_config(hf);
  c.ffn = hf.count("intermediate_size");
  c.activation = hf.activation("hidden_act", Activation::gelu);
  c.norm_order = hf.flag("use_parallel_residual", true) ? NormOrder::parallel : NormOrder::pre;
  c.norm_eps = static_cast<float>(hf.number("layer_norm_eps", 1e-5));
  c.attention_bias = hf.flag("attention_bias", true);
  c.self_attention.decoder = read_rotary(hf, c.d_model / c.heads, {.share = 0.25});
  return c;
}

TensorNames gpt_neox_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names("gpt_neox.");
  const FusedRows rows = fused_rows(ours.heads, 1, ours.d_model / ours.heads);
  names.tensor("embedding.tokens", "gpt_neox.embed_in.weight");
  names.output("embed_out.weight");
  names.fallback("lm_head.weight", "embed_out.weight");  // its name in version 5 of transformers
  for_each_layer(ours.decoder_layers, "gpt_neox.layers.", [&](const std::string& to, const std::string& from) {
    names.fused_attention(to + "self_attention", from + "attention.query_key_value", rows);
    names.linear(to + "self_attention.out", from + "attention.dense");
    names.norm(to + "norm1", from + "input_layernorm");
    names.linear(to + "feed_forward.up", from + "mlp.dense_h_to_4h");
    names.linear(to + "feed_forward.down", from + "mlp.dense_4h_to_h");
    names.norm(to + "norm2", from + "post_attention_layernorm");
  });
  names.norm("norm", "gpt_neox.final_layer_norm");
  for (const char* buffer : {".attention.bias", ".attention.masked_bias", ".rotary_emb.inv_freq"})
    names.ignore(buffer);
  return names;
}

}  // namespace

const Family family::gpt_neox = {"gpt_neox", gpt_neox_config, gpt_neox_tensors};

}  // namespace qkv
