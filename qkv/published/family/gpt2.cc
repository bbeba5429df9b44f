// GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019). Matrices are stored as (in,
// out).
#include <cmath>

#include "qkv/published/family/family.h"

namespace qkv {
namespace {

TransformerConfig gpt2_config(const HfConfig& hf) {
  TransformerConfig c = causal_config(hf);
  if (hf.flag("add_cross_attention", false)) hf.refuse("add_cross_attention", "a causal model has no encoder");
  c.ffn = hf.count("n_inner", 4 * c.d_model);
  c.activation = hf.activation("activation_function", Activation::gelu_tanh);
  c.norm_eps = static_cast<float>(hf.number("layer_norm_epsilon", 1e-5));
  c.positions = Positions::learned;
  c.max_positions = hf.count({"n_positions", "max_position_embeddings"}, 1024);
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::none;

  const double scale = hf.flag("scale_attn_weights", true)
                           ? 1 / std::sqrt(static_cast<double>(c.d_model) / static_cast<double>(c.heads))
                           : 1.0;
  if (hf.flag("scale_attn_by_inverse_layer_idx", false)) {
    std::vector<AttentionPattern::Group> layers;
    for (int64_t n = 1; n <= c.decoder_layers; ++n)
      layers.push_back({AttentionVariant(Dot{.scale = scale / static_cast<double>(n)}), 1});
    c.self_attention.decoder = AttentionPattern(layers);
  } else if (!hf.flag("scale_attn_weights", true)) {
    c.self_attention.decoder = Dot{};
  }
  return c;
}

TensorNames gpt2_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names("transformer.");
  const FusedRows rows = fused_rows(1, 1, ours.d_model);
  names.tensor("embedding.tokens", "transformer.wte.weight");
  names.tensor("embedding.positions", "transformer.wpe.weight");
  names.output("lm_head.weight");
  for_each_layer(ours.decoder_layers, "transformer.h.", [&](const std::string& to, const std::string& from) {
    names.fused_attention(to + "self_attention", from + "attn.c_attn", rows, /*transposed=*/true);
    names.linear(to + "self_attention.out", from + "attn.c_proj", {.transposed = true});
    names.norm(to + "norm1", from + "ln_1");
    names.linear(to + "feed_forward.up", from + "mlp.c_fc", {.transposed = true});
    names.linear(to + "feed_forward.down", from + "mlp.c_proj", {.transposed = true});
    names.norm(to + "norm2", from + "ln_2");
  });
  names.norm("norm", "transformer.ln_f");
  for (const char* mask : {".attn.bias", ".attn.masked_bias"}) names.ignore(mask);
  return names;
}

}  // namespace

const Family family::gpt2 = {"gpt2", gpt2_config, gpt2_tensors};

}  // namespace qkv
