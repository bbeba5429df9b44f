// BART (Lewis et al., 2020), whose keys and names other encoder-decoders have too: Marian, M2M100.
#include "qkv/published/family/family.h"

namespace qkv {

// The sizes and the settings that all of them share.
TransformerConfig encoder_decoder_config(const HfConfig& hf) {
  TransformerConfig c;
  c.source_vocabulary = c.target_vocabulary = hf.count("vocab_size");
  c.d_model = hf.count("d_model");
  c.encoder_layers = hf.count("encoder_layers");
  c.decoder_layers = hf.count("decoder_layers");
  c.heads = hf.count("encoder_attention_heads");
  c.ffn = hf.count("encoder_ffn_dim");
  if (const int64_t heads = hf.count("decoder_attention_heads"); heads != c.heads) c.decoder_heads = heads;
  if (const int64_t ffn = hf.count("decoder_ffn_dim"); ffn != c.ffn) c.decoder_ffn = ffn;
  c.activation = hf.activation("activation_function", Activation::gelu);
  c.dropout = 0;
  c.norm_order = NormOrder::post;
  c.max_positions = hf.count("max_position_embeddings");
  c.embedding_scale = hf.flag("scale_embedding", false) ? 0 : 1;  // 0: sqrt(C)
  c.tie = hf.flag("tie_word_embeddings", true) ? Tie::all : Tie::embeddings;
  return c;
}

namespace {

TransformerConfig bart_config(const HfConfig& hf) {
  TransformerConfig c = encoder_decoder_config(hf);
  c.positions = Positions::learned;
  c.position_offset = 2;
  c.embedding_norm = true;
  c.output_bias = true;
  return c;
}

TensorNames bart_tensors(const HfConfig&, const TransformerConfig& ours) {
  TensorNames names("model.");
  const auto attention = [&](const std::string& to, const std::string& from) {
    names.linear(to + ".query", from + ".q_proj");
    names.linear(to + ".key", from + ".k_proj");
    names.linear(to + ".value", from + ".v_proj");
    names.linear(to + ".out", from + ".out_proj");
  };
  const auto feed_forward = [&](const std::string& to, const std::string& from) {
    names.linear(to + "feed_forward.up", from + "fc1");
    names.linear(to + "feed_forward.down", from + "fc2");
  };
  for (const auto& [side, stack] : {std::pair("source", "encoder"), std::pair("target", "decoder")}) {
    const std::string to = side, from = std::string("model.") + stack;
    names.tensor(to + "_positions", from + ".embed_positions.weight");
    names.norm(to + "_embedding.norm", from + ".layernorm_embedding");
    names.norm(std::string(stack) + ".norm", from + ".layer_norm");
  }
  if (ties_embeddings(ours.tie)) {
    names.tensor("source_embedding", "model.shared.weight");
    names.copy("model.encoder.embed_tokens.weight", "model.shared.weight");
    names.copy("model.decoder.embed_tokens.weight", "model.shared.weight");
  } else {
    names.tensor("source_embedding", "model.encoder.embed_tokens.weight");
    names.tensor("target_embedding", "model.decoder.embed_tokens.weight");
    names.copy("model.shared.weight", "model.encoder.embed_tokens.weight");
  }
  names.output("lm_head.weight");
  names.optional_tensor("output.bias", "final_logits_bias");
  for_each_layer(ours.encoder_layers, "model.encoder.layers.",
                 [&](const std::string& layer, const std::string& from) {
                   const std::string to = "encoder." + layer;
                   attention(to + "self_attention", from + "self_attn");
                   names.norm(to + "norm1", from + "self_attn_layer_norm");
                   feed_forward(to, from);
                   names.norm(to + "norm2", from + "final_layer_norm");
                 });
  for_each_layer(ours.decoder_layers, "model.decoder.layers.",
                 [&](const std::string& layer, const std::string& from) {
                   const std::string to = "decoder." + layer;
                   attention(to + "self_attention", from + "self_attn");
                   names.norm(to + "norm1", from + "self_attn_layer_norm");
                   attention(to + "cross_attention", from + "encoder_attn");
                   names.norm(to + "norm2", from + "encoder_attn_layer_norm");
                   feed_forward(to, from);
                   names.norm(to + "norm3", from + "final_layer_norm");
                 });
  return names;
}

}  // namespace

const Family family::bart = {"bart", bart_config, bart_tensors};

}  // namespace qkv
