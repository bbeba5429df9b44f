// Falcon 7B and 40B (Almazrouei et al., "The Falcon Series of Open Language Models", 2023), and Falcon RW, with ALiBi.
#include "qkv/layer/mechanism/falcon_alibi.h"
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

bool is_new(const HfConfig& hf) { return hf.flag("new_decoder_architecture", false); }

TransformerConfig falcon_config(const HfConfig& hf) {
  TransformerConfig c = causal_config(hf);
  if (is_new(hf))
    c.kv_heads = hf.count({"num_kv_heads", "n_head_kv"}, c.heads);
  else if (hf.flag("multi_query", true))
    c.kv_heads = 1;
  c.ffn = hf.count("ffn_hidden_size", 4 * c.d_model);
  c.activation = hf.activation("activation", Activation::gelu);
  c.norm_eps = static_cast<float>(hf.number("layer_norm_epsilon", 1e-5));
  const bool two_norms = is_new(hf) && hf.count("num_ln_in_parallel_attn", 2) == 2;
  const bool parallel = is_new(hf) || hf.flag("parallel_attn", true);
  c.norm_order = !parallel ? NormOrder::pre : two_norms ? NormOrder::parallel : NormOrder::parallel_shared;
  c.attention_bias = c.ffn_bias = hf.flag("bias", false);
  if (hf.flag("alibi", false))
    c.self_attention.decoder = FalconAlibi{};
  else
    c.self_attention.decoder = read_rotary(hf, c.d_model / c.heads);
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::none;
  return c;
}

TensorNames falcon_tensors(const HfConfig& hf, const TransformerConfig& ours) {
  TensorNames names("transformer.");
  // Groups of query heads, each with its key and value head; or all queries, then one key and one value; or one of each
  // per head.
  const int64_t groups = ours.kv_heads == 0 ? ours.heads : ours.kv_heads;
  const FusedRows rows = fused_rows(groups, ours.heads / groups, ours.d_model / ours.heads);
  const bool two_norms = ours.norm_order == NormOrder::parallel && is_new(hf);
  names.tensor("embedding.tokens", "transformer.word_embeddings.weight");
  names.output("lm_head.weight");
  for_each_layer(ours.decoder_layers, "transformer.h.", [&](const std::string& to, const std::string& from) {
    names.fused_attention(to + "self_attention", from + "self_attention.query_key_value", rows);
    names.linear(to + "self_attention.out", from + "self_attention.dense");
    names.norm(to + "norm1", from + (two_norms ? "ln_attn" : "input_layernorm"));
    names.linear(to + "feed_forward.up", from + "mlp.dense_h_to_4h");
    names.linear(to + "feed_forward.down", from + "mlp.dense_4h_to_h");
    names.norm(to + "norm2", from + (two_norms ? "ln_mlp" : "post_attention_layernorm"));
  });
  names.norm("norm", "transformer.ln_f");
  names.ignore(".rotary_emb.inv_freq");
  return names;
}

}  // namespace

const Family family::falcon = {"falcon", falcon_config, falcon_tensors};

}  // namespace qkv
