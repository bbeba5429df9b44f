// Reads a published model from its folder: one of Hugging Face, as save_pretrained() writes it, or of CTranslate2.
//
//     if (is_published("llama")) read_family("llama", [&](const TransformerConfig& c) -> Model& { ... }, store);
//
// Errors: InputError that names the file, and all tensors that are missing or left over.
#pragma once

#include <filesystem>
#include <functional>

#include "qkv/model/model.h"
#include "qkv/model/store_parameters.h"

namespace qkv {

// Whether the folder holds a model of another program: a config.json with a `model_type`, or another format.
bool is_published(const std::filesystem::path& folder);

// Reads the configuration, and stores the parameters in the model that `make` creates from it.
void read_family(const std::filesystem::path& folder,
                 const std::function<Model&(const TransformerConfig& config)>& make, const StoreParameter& store);
// The configuration alone: embeddings are tied as config.json says.
TransformerConfig read_family_config(const std::filesystem::path& folder);

}  // namespace qkv
