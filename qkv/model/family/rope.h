// Rotary position encoding of a Hugging Face configuration. Version 5 of transformers writes `rope_parameters`, with an entry
// for each kind of layer where they differ; version 4 `rope_theta` beside `rope_scaling`.
//
//     const Rotary rotary = read_rotary(config, head_width);                            // of all layers
//     const Rotary local = read_rotary(config, head_width, "sliding_attention");
#pragma once

#include <string>

#include "qkv/layer/mechanism/rotary.h"
#include "qkv/model/family/hf_config.h"

namespace qkv {

Rotary read_rotary(const HfConfig& config, int64_t head_width, const std::string& layer_type = "");

// The longest text that the model was made for: max_position_embeddings, times the factor of dynamic scaling, which begins
// behind it. 0: the file does not say.
int64_t read_context_length(const HfConfig& config);

}  // namespace qkv
