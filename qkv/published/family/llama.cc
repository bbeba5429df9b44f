// Llama 1 to 3 (Touvron et al., 2023; Llama Team, 2024), and families that differ in a setting or two: Mistral, Qwen 2
// and 3.
#include "qkv/published/family/family.h"
#include "qkv/published/family/layer_types.h"

namespace qkv {

TransformerConfig llama_config(const HfConfig& hf, const RotaryDefaults& rotary) {
  TransformerConfig c = causal_config(hf);
  c.kv_heads = hf.count("num_key_value_heads", c.heads);
  c.head_width = hf.count("head_dim", c.d_model / c.heads);
  c.ffn = hf.count("intermediate_size");
  c.activation = hf.activation("hidden_act", Activation::silu);
  c.gated_ffn = true;
  c.norm_kind = NormKind::rms;
  c.norm_eps = static_cast<float>(hf.number("rms_norm_eps", 1e-6));
  c.attention_bias = hf.flag("attention_bias", false);
  c.ffn_bias = hf.flag("mlp_bias", false);
  c.self_attention.decoder = read_rotary(hf, c.head_width, rotary);
  return c;
}

AttentionVariant windowed(const HfConfig& hf, const AttentionVariant& full, std::optional<int64_t> absent) {
  const std::optional<int64_t> keys = hf.count_or_none("sliding_window", absent);
  return keys ? full + SlidingWindow{*keys - 1} : full;
}

namespace {

TransformerConfig llama_config(const HfConfig& hf) { return llama_config(hf, {}); }

// In every layer. A Ministral, which has the same `model_type`, has windows in the layers that `layer_types` names.
TransformerConfig mistral_config(const HfConfig& hf) {
  TransformerConfig c = llama_config(hf);
  const AttentionVariant full = read_rotary(hf, c.head_width);
  c.self_attention.decoder =
      layer_pattern(hf, c.decoder_layers, {.full = full, .sliding = windowed(hf, full, 4096)}, every_layer);
  return c;
}

// `sliding_window` counts only if `use_sliding_window` is true, from layer `max_window_layers` on.
TransformerConfig qwen2_config(const HfConfig& hf) {
  TransformerConfig c = llama_config(hf);
  c.attention_bias = true;
  c.attention_output_bias = false;
  if (hf.flag("use_sliding_window", false)) {
    const int64_t first = hf.index("max_window_layers", 28);
    const AttentionVariant full = read_rotary(hf, c.head_width);
    c.self_attention.decoder =
        layer_pattern(hf, c.decoder_layers, {.full = full, .sliding = windowed(hf, full, 4096)},
                      [&](int64_t layer) { return layer >= first; });
  }
  return c;
}

TransformerConfig qwen3_config(const HfConfig& hf) {
  TransformerConfig c = qwen2_config(hf);
  c.attention_bias = hf.flag("attention_bias", false);
  c.attention_output_bias = c.attention_bias;
  c.query_key_norm = true;
  return c;
}

TensorNames llama_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names("model.");
  names.tensor("embedding.tokens", "model.embed_tokens.weight");
  names.output("lm_head.weight");
  for_each_layer(ours.decoder_layers, "model.layers.", [&](const std::string& to, const std::string& from) {
    names.linear(to + "self_attention.query", from + "self_attn.q_proj");
    names.linear(to + "self_attention.key", from + "self_attn.k_proj");
    names.linear(to + "self_attention.value", from + "self_attn.v_proj");
    names.linear(to + "self_attention.out", from + "self_attn.o_proj");
    names.norm(to + "self_attention.query_norm", from + "self_attn.q_norm");
    names.norm(to + "self_attention.key_norm", from + "self_attn.k_norm");
    names.norm(to + "norm1", from + "input_layernorm");
    names.linear(to + "feed_forward.gate", from + "mlp.gate_proj");
    names.linear(to + "feed_forward.up", from + "mlp.up_proj");
    names.linear(to + "feed_forward.down", from + "mlp.down_proj");
    names.norm(to + "norm2", from + "post_attention_layernorm");
  });
  names.norm("norm", "model.norm");
  names.ignore(".rotary_emb.inv_freq");
  return names;
}

}  // namespace

const Family family::llama = {"llama", llama_config, llama_tensors};
const Family family::mistral = {"mistral", mistral_config, llama_tensors};
const Family family::qwen2 = {"qwen2", qwen2_config, llama_tensors};
const Family family::qwen3 = {"qwen3", qwen3_config, llama_tensors};

}  // namespace qkv
