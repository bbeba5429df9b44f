// A model in a GGUF file of llama.cpp, which stands where a model folder may: its configuration, tensors, tokenizer and
// settings of generation are in one file.
//
//     if (const auto model = open_gguf("llama-3.2-1b-q4_k_m.gguf")) model->config();
//
// Architectures and what differs in them: gguf_architecture.h. Number formats of tensors: kernel/format/stored_format.h.
// Errors: InputError that names the file; a file of several is refused.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "qkv/model/pooling.h"
#include "qkv/published/model_folder.h"

namespace qkv {

// Null for a folder, and for a file that does not begin as one.
std::unique_ptr<ModelFolder> open_gguf(const std::filesystem::path& path);

// How the file says that the tokens of a text become one vector; none: it does not.
std::optional<Pooling> gguf_pooling(const std::filesystem::path& path);

}  // namespace qkv
