// Families of published models, by the `model_type` of their config.json: what their settings mean here, and which of
// their tensors is which parameter. A family is a file in this folder, which ends with the object declared here.
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
#include "qkv/published/family/rope.h"
#include "qkv/published/huggingface/hf_config.h"
#include "qkv/published/tensor_names.h"

namespace qkv {

struct Family {
  std::string_view model_type;
  TransformerConfig (*config)(const HfConfig& hf);
  // The tensors of a model with the configuration that config() returned.
  TensorNames (*tensors)(const HfConfig& hf, const TransformerConfig& ours);
};

// Each is defined in its own file.
namespace family {
extern const Family bart, bert, big_bird, bloom, camembert, distilbert, falcon, gemma2, gemma3_text, gpt2, gpt_neox,
    llama, longformer, m2m_100, marian, mistral, mpnet, mt5, opt, pegasus, phi3, qwen2, qwen3, roberta, t5,
    xlm_roberta;
}

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

TransformerConfig llama_config(const HfConfig& hf, const RotaryDefaults& rotary);
// A query sees `sliding_window` keys, its own among them; null: all.
AttentionVariant windowed(const HfConfig& hf, const AttentionVariant& full, std::optional<int64_t> absent);
TensorNames roberta_names(const std::string& prefix, const TransformerConfig& ours);

}  // namespace qkv
