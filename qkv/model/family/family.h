// Families of published models, by the `model_type` of their config.json: what their settings mean here, and which of
// their tensors is which parameter. A family is a file in this folder, its two functions declared below, and a line in
// family.cc.
//
//     const Family& llama = family_of(config);
//     TransformerConfig ours = llama.config(config);
//     TensorNames names = llama.tensors(config, ours);
//
// Errors: InputError for an unknown model_type, with the known ones, and for settings that cannot be computed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "qkv/model/config.h"
#include "qkv/model/family/hf_config.h"
#include "qkv/model/family/rope.h"
#include "qkv/model/family/tensor_names.h"

namespace qkv {

struct Family {
  std::string_view model_type;
  TransformerConfig (*config)(const HfConfig& hf);
  // The tensors of a model with the configuration that config() returned.
  TensorNames (*tensors)(const HfConfig& hf, const TransformerConfig& ours);
};

const Family& family_of(const HfConfig& config);
std::vector<std::string_view> family_names();

// The settings that most decoder-only models share: one stack, only rotary positions, embeddings without a scale.
TransformerConfig causal_config(const HfConfig& hf);
// Called for every layer with the prefix of its names, "model.layers.3." for layer 3.
template <class Function>
void for_each_layer(int64_t layers, const std::string& theirs, Function function) {
  for (int64_t n = 0; n < layers; ++n)
    function("layers." + std::to_string(n) + ".", theirs + std::to_string(n) + ".");
}

// The same for encoder-decoders with the keys of BART.
TransformerConfig encoder_decoder_config(const HfConfig& hf);

TransformerConfig llama_config(const HfConfig& hf);
TransformerConfig llama_config(const HfConfig& hf, const RotaryDefaults& rotary);
// A query sees `sliding_window` keys, its own among them; null: all.
AttentionVariant windowed(const HfConfig& hf, const AttentionVariant& full, std::optional<int64_t> absent);
TensorNames llama_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig mistral_config(const HfConfig& hf);
TransformerConfig qwen2_config(const HfConfig& hf);
TransformerConfig qwen3_config(const HfConfig& hf);
TransformerConfig phi3_config(const HfConfig& hf);
TensorNames phi3_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig gemma2_config(const HfConfig& hf);
TransformerConfig gemma3_config(const HfConfig& hf);
TensorNames gemma_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig gpt2_config(const HfConfig& hf);
TensorNames gpt2_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig gpt_neox_config(const HfConfig& hf);
TensorNames gpt_neox_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig opt_config(const HfConfig& hf);
TensorNames opt_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig bloom_config(const HfConfig& hf);
TensorNames bloom_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig falcon_config(const HfConfig& hf);
TensorNames falcon_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig bert_config(const HfConfig& hf);
TensorNames bert_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig roberta_config(const HfConfig& hf);
TensorNames roberta_tensors(const HfConfig& hf, const TransformerConfig& ours);
TensorNames roberta_names(const std::string& prefix, const TransformerConfig& ours);
TransformerConfig longformer_config(const HfConfig& hf);
TensorNames longformer_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig big_bird_config(const HfConfig& hf);
TensorNames big_bird_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig distilbert_config(const HfConfig& hf);
TensorNames distilbert_tensors(const HfConfig& hf, const TransformerConfig& ours);

TransformerConfig bart_config(const HfConfig& hf);
TensorNames bart_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig marian_config(const HfConfig& hf);
TensorNames marian_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig m2m_100_config(const HfConfig& hf);
TensorNames m2m_100_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig pegasus_config(const HfConfig& hf);
TensorNames pegasus_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig t5_config(const HfConfig& hf);
TransformerConfig mpnet_config(const HfConfig& hf);
TensorNames mpnet_tensors(const HfConfig& hf, const TransformerConfig& ours);
TransformerConfig mt5_config(const HfConfig& hf);
TensorNames t5_tensors(const HfConfig& hf, const TransformerConfig& ours);

}  // namespace qkv
