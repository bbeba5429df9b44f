// Gemma 2 and 3, the language models (Gemma Team, 2024, 2025): Llama with norms on both sides of a sublayer, where a
// weight of 0 is a factor of 1, and with sliding windows in most layers.
#include <cmath>

#include "qkv/published/family/family.h"
#include "qkv/published/family/layer_types.h"

namespace qkv {
namespace {

TransformerConfig gemma_config(const HfConfig& hf, std::optional<double> logit_softcap) {
  if (hf.flag("use_bidirectional_attention", false))
    hf.refuse("use_bidirectional_attention", "a causal model sees earlier tokens only");
  TransformerConfig c = family::llama.config(hf);
  c.head_width = hf.count("head_dim", 256);
  c.activation = hf.activation({"hidden_activation", "hidden_act"}, Activation::gelu_tanh);
  c.norm_order = NormOrder::sandwich;
  c.norm_weight_offset = 1;
  c.embedding_scale = 0;  // sqrt(C)
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::none;
  c.logit_softcap = static_cast<float>(hf.number_or_none("final_logit_softcapping", logit_softcap).value_or(0));
  return c;
}

// The scale of the scores is a setting.
AttentionVariant scaled(const HfConfig& hf) {
  return Dot{.scale = 1 / std::sqrt(hf.number("query_pre_attn_scalar", 256.0))};
}

TransformerConfig gemma2_config(const HfConfig& hf) {
  TransformerConfig c = gemma_config(hf, 30);
  AttentionVariant scores = scaled(hf);
  if (const std::optional<double> cap = hf.number_or_none("attn_logit_softcapping", 50))
    scores = scores + Softcap{*cap};
  const AttentionVariant full = scores + read_rotary(hf, c.head_width);
  c.self_attention.decoder = layer_pattern(
      hf, c.decoder_layers, {.full = full, .sliding = full + SlidingWindow{hf.count("sliding_window", 4096) - 1}},
      [](int64_t layer) { return layer % 2 == 0; });
  return c;
}

// Layers without a window have their own rotary base, and only they have the scaling.
TransformerConfig gemma3_config(const HfConfig& hf) {
  TransformerConfig c = gemma_config(hf, {});
  c.query_key_norm = true;
  Rotary local = read_rotary(hf, c.head_width, {.layer_type = "sliding_attention"});
  if (!hf.has("rope_parameters")) {
    local.base = hf.number("rope_local_base_freq", 10000.0);
    local.scaling = {};
  }
  const AttentionVariant scores = scaled(hf);  // transformers does not read attn_logit_softcapping
  const AttentionVariant full =
      scores + read_rotary(hf, c.head_width, {.layer_type = "full_attention", .base = 1e6});
  const AttentionVariant sliding = scores + local + SlidingWindow{hf.count("sliding_window", 4096) - 1};
  const int64_t every = hf.count({"sliding_window_pattern", "_sliding_window_pattern"}, 6);
  c.self_attention.decoder = layer_pattern(hf, c.decoder_layers, {.full = full, .sliding = sliding},
                                           [&](int64_t layer) { return (layer + 1) % every != 0; });
  return c;
}

TensorNames gemma_tensors(const HfConfig& hf, const TransformerConfig& ours) {
  TensorNames names = family::llama.tensors(hf, ours);
  for_each_layer(ours.decoder_layers, "model.layers.", [&](const std::string& to, const std::string& from) {
    names.norm(to + "output_norm1", from + "post_attention_layernorm");
    names.norm(to + "norm2", from + "pre_feedforward_layernorm");
    names.norm(to + "output_norm2", from + "post_feedforward_layernorm");
  });
  return names;
}

}  // namespace

const Family family::gemma2 = {"gemma2", gemma2_config, gemma_tensors};
const Family family::gemma3_text = {"gemma3_text", gemma3_config, gemma_tensors};

}  // namespace qkv
