// Checkpoints of minGPT in the JSON format of llm-viz: one file with the configuration and the tensors in base64.
//
//     {"config": {"model_type": "gpt-nano", "n_layer": 3, "n_head": 3, "n_embd": 48, "vocab_size": 3, "block_size": 11},
//      "transformer.wte.weight": {"shape": [3, 48], "dtype": "torch.float32", "data": "wBt1Pc3e..."}, ...}
//
//     if (is_min_gpt_folder("sort")) PublishedModel model = read_min_gpt("sort");
//
// The folder has one file whose name ends in -model.json. There is no vocabulary: tokens are numbers separated by
// spaces. Errors: InputError for another kind of file, and for tensors whose bytes do not fit their shape.
#pragma once

#include <filesystem>

#include "qkv/model/family/published_model.h"

namespace qkv {

bool is_min_gpt_folder(const std::filesystem::path& folder);
PublishedModel read_min_gpt(const std::filesystem::path& folder);

}  // namespace qkv
