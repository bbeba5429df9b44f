// T5 (Raffel et al., 2020), its version 1.1, FLAN-T5 and mT5 (Xue et al., 2021): unscaled scores, with a bias by
// distance whose table all layers of a stack share.
#include <cmath>

#include "qkv/published/family/family.h"

namespace qkv {
namespace {

// `feed_forward_proj`, "gated-gelu", unless `dense_act_fn` and `is_gated_act` say something else.
void read_feed_forward(TransformerConfig& c, const HfConfig& hf, const char* absent) {
  const std::string name = hf.text("feed_forward_proj", absent);
  const bool is_gated = name.starts_with("gated-");
  c.gated_ffn = hf.flag("is_gated_act", is_gated);
  if (hf.has("dense_act_fn"))
    c.activation = hf.activation_named("dense_act_fn", hf.text("dense_act_fn"));
  else if (name == "gated-gelu")  // version 1.1 says gelu and means its tanh form
    c.activation = Activation::gelu_tanh;
  else
    c.activation = hf.activation_named("feed_forward_proj", is_gated ? name.substr(6) : name);
}

TransformerConfig t5_config(const HfConfig& hf) {
  TransformerConfig c;
  c.source_vocabulary = c.target_vocabulary = hf.count("vocab_size");
  c.d_model = hf.count("d_model");
  c.head_width = hf.count("d_kv", 64);
  c.heads = hf.count("num_heads");
  c.ffn = hf.count("d_ff");
  c.encoder_layers = hf.count("num_layers");
  c.decoder_layers = hf.count("num_decoder_layers", c.encoder_layers);
  c.dropout = 0;
  c.norm_order = NormOrder::pre;
  c.norm_kind = NormKind::rms;
  c.norm_eps = static_cast<float>(hf.number("layer_norm_epsilon", 1e-6));
  c.attention_bias = c.ffn_bias = false;
  c.positions = Positions::none;
  c.embedding_scale = 1;
  read_feed_forward(c, hf, "relu");
  const RelativeBias bias = {.buckets = hf.count("relative_attention_num_buckets", 32),
                             .max_distance = hf.count("relative_attention_max_distance", 128),
                             .shared = true};
  const AttentionVariant scores = Dot{.scale = 1};
  c.self_attention = scores + bias;
  c.cross_attention = scores;
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::embeddings;
  if (hf.flag("scale_decoder_outputs", c.tie == Tie::all))
    c.output_scale = 1 / std::sqrt(static_cast<float>(c.d_model));
  return c;
}

TransformerConfig mt5_config(const HfConfig& hf) {
  TransformerConfig c = t5_config(hf);
  read_feed_forward(c, hf, "gated-gelu");
  c.output_scale = 1;
  return c;
}

TensorNames t5_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names;
  names.tensor("source_embedding", "shared.weight");
  names.copy("encoder.embed_tokens.weight", "shared.weight");
  names.copy("decoder.embed_tokens.weight", "shared.weight");
  names.output("lm_head.weight");
  const auto attention = [&](const std::string& to, const std::string& from) {
    names.linear(to + ".query", from + ".q");
    names.linear(to + ".key", from + ".k");
    names.linear(to + ".value", from + ".v");
    names.linear(to + ".out", from + ".o");
    names.tensor(to + ".relative-bias.table", from + ".relative_attention_bias.weight");
  };
  const auto feed_forward = [&](const std::string& to, const std::string& from) {
    names.linear(to + ".gate", from + ".wi_0");
    names.linear(to + ".up", from + (ours.gated_ffn ? ".wi_1" : ".wi"));
    names.linear(to + ".down", from + ".wo");
  };
  for_each_layer(ours.encoder_layers, "encoder.block.", [&](const std::string& layer, const std::string& from) {
    const std::string to = "encoder." + layer;
    attention(to + "self_attention", from + "layer.0.SelfAttention");
    names.norm(to + "norm1", from + "layer.0.layer_norm");
    feed_forward(to + "feed_forward", from + "layer.1.DenseReluDense");
    names.norm(to + "norm2", from + "layer.1.layer_norm");
  });
  for_each_layer(ours.decoder_layers, "decoder.block.", [&](const std::string& layer, const std::string& from) {
    const std::string to = "decoder." + layer;
    attention(to + "self_attention", from + "layer.0.SelfAttention");
    names.norm(to + "norm1", from + "layer.0.layer_norm");
    attention(to + "cross_attention", from + "layer.1.EncDecAttention");
    names.norm(to + "norm2", from + "layer.1.layer_norm");
    feed_forward(to + "feed_forward", from + "layer.2.DenseReluDense");
    names.norm(to + "norm3", from + "layer.2.layer_norm");
  });
  for (const char* stack : {"encoder", "decoder"})
    names.norm(std::string(stack) + ".norm", std::string(stack) + ".final_layer_norm");
  names.ignore("EncDecAttention.relative_attention_bias.weight");  // unused, in early files
  return names;
}

}  // namespace

const Family family::mt5 = {"mt5", mt5_config, t5_tensors};
const Family family::t5 = {"t5", t5_config, t5_tensors};

}  // namespace qkv
