// Architectures of GGUF files as families of Hugging Face: the metadata as the settings of a config.json, and the names
// of tensors. The family (published/family/) does the rest.
//
//     const GgufArchitecture& llama = gguf_architecture(file.metadata());
//     const HfConfig hf(llama.settings(file.outline()).dump(), file.metadata().file());
//     TransformerConfig ours = config_of_gguf(llama, hf);
//     TensorNames names = tensors_of_gguf(llama, hf, ours);     // by the names in the file
//
// What the files of llama.cpp do differently: matrices are (out, in), also those of GPT-2; fused matrices of attention
// hold all queries, then all keys, then all values; rows of the queries and keys of Llama are in the order of
// interleaved rotary positions; norms of Gemma have their factor itself, not the factor minus one. Errors: InputError for
// an unknown architecture, with the known ones, and for metadata that is missing or cannot be computed.
#pragma once

#include <span>
#include <string_view>

#include "qkv/base/json.h"
#include "qkv/model/config.h"
#include "qkv/published/gguf/gguf_outline.h"
#include "qkv/published/huggingface/hf_config.h"
#include "qkv/published/tensor_names.h"

namespace qkv {

// The name of a module in a file of Hugging Face and in a GGUF file, without ".weight" and ".bias"; # is the layer.
struct GgufName {
  std::string_view huggingface, gguf;
};

struct GgufArchitecture {
  std::string_view name;                      // general.architecture
  std::string_view model_type;                // of the family that names its tensors
  Json (*settings)(const GgufOutline& file);  // as in config.json
  std::span<const GgufName> names;
  bool interleaved_rotary = false;  // rows of queries and keys
};

const GgufArchitecture& gguf_architecture(const GgufMetadata& metadata);
const GgufArchitecture* gguf_architecture_named(std::string_view name);
std::span<const GgufArchitecture> gguf_architectures();

TransformerConfig config_of_gguf(const HfConfig& hf);
TensorNames tensors_of_gguf(const GgufArchitecture& architecture, const HfConfig& hf,
                            const TransformerConfig& ours);

// Rows of a matrix of heads: row i as Hugging Face has it, halves of a head after one another, is row order[i] of one
// whose halves alternate.
std::vector<int64_t> interleaved_rows(int64_t heads, int64_t width);

}  // namespace qkv
