// OPT (Zhang et al., "OPT: Open Pre-trained Transformer Language Models", 2022).
#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig opt_config(const HfConfig& hf) {
  TransformerConfig c = causal_config(hf);
  if (!hf.flag("layer_norm_elementwise_affine", true))
    hf.refuse("layer_norm_elementwise_affine", "norms without weights are not supported");
  if (hf.flag("_remove_final_layer_norm", false))
    hf.refuse("_remove_final_layer_norm", "a pre-LN model without a norm at its end is not supported");
  if (const int64_t width = hf.count("word_embed_proj_dim", c.d_model); width != c.d_model)
    c.embedding_width = width;
  c.ffn = hf.count("ffn_dim");
  c.activation = hf.activation("activation_function", Activation::relu);
  c.norm_order = hf.flag("do_layer_norm_before", true) ? NormOrder::pre : NormOrder::post;
  c.attention_bias = c.ffn_bias = hf.flag("enable_bias", true);
  c.positions = Positions::learned;
  c.max_positions = hf.count("max_position_embeddings");
  c.position_offset = 2;
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::none;
  return c;
}

TensorNames opt_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names("model.");
  names.tensor("embedding.tokens", "model.decoder.embed_tokens.weight");
  names.tensor("embedding.positions", "model.decoder.embed_positions.weight");
  names.linear("embedding.projection", "model.decoder.project_in");
  names.linear("output.projection", "model.decoder.project_out");
  names.output("lm_head.weight");
  for_each_layer(ours.decoder_layers, "model.decoder.layers.", [&](const std::string& to, const std::string& from) {
    names.linear(to + "self_attention.query", from + "self_attn.q_proj");
    names.linear(to + "self_attention.key", from + "self_attn.k_proj");
    names.linear(to + "self_attention.value", from + "self_attn.v_proj");
    names.linear(to + "self_attention.out", from + "self_attn.out_proj");
    names.norm(to + "norm1", from + "self_attn_layer_norm");
    names.linear(to + "feed_forward.up", from + "fc1");
    names.linear(to + "feed_forward.down", from + "fc2");
    names.norm(to + "norm2", from + "final_layer_norm");
  });
  names.norm("norm", "model.decoder.final_layer_norm");
  return names;
}

}  // namespace

const Family family::opt = {"opt", opt_config, opt_tensors};

}  // namespace qkv
