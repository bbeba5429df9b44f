// Checkpoints of minGPT in the JSON format of llm-viz: one file with the configuration and the tensors in base64.
//
//     {"config": {"model_type": "gpt-nano", "n_layer": 3, "n_head": 3, "n_embd": 48, "vocab_size": 3, "block_size": 11},
//      "transformer.wte.weight": {"shape": [3, 48], "dtype": "torch.float32", "data": "wBt1Pc3e..."}, ...}
//
//     if (const auto folder = open_min_gpt("sort")) folder->config();
//
// The folder has one file whose name ends in -model.json. There is no vocabulary: tokens are numbers separated by
// spaces. Errors: InputError for another kind of file, and for tensors whose bytes do not fit their shape.
#pragma once

#include <filesystem>
#include <memory>

#include "qkv/published/model_folder.h"

namespace qkv {

// Null if the folder has another format.
std::unique_ptr<ModelFolder> open_min_gpt(const std::filesystem::path& path);

// The text "2 0 1" is the tokens 2, 0 and 1.
Tokenizer number_tokenizer(const std::string& name, int64_t rows);

}  // namespace qkv
