// Reads a model of a published family from its folder, as save_pretrained() of Hugging Face writes it.
//
//     if (is_family_config("llama/config.json")) read_family("llama", [&](const TransformerConfig& c) -> Model& { ... });
//
// Errors: InputError that names the file, and all tensors that are missing or left over.
#pragma once

#include <filesystem>
#include <functional>

#include "qkv/model/model.h"

namespace qkv {

// Whether it is a config.json with a `model_type`, and not one of ours.
bool is_family_config(const std::filesystem::path& file);

// The configuration, and the parameters into the model that `make` makes of it.
void read_family(const std::filesystem::path& folder,
                 const std::function<Model&(const TransformerConfig& config)>& make);
// The configuration alone: embeddings are tied as config.json says.
TransformerConfig read_family_config(const std::filesystem::path& folder);

}  // namespace qkv
