// Rotary position encoding of a Hugging Face configuration. Version 5 of transformers writes `rope_parameters`, with an
// entry for each kind of layer if they differ; version 4 writes `rope_theta` and `rope_scaling`.
//
//     const Rotary rotary = read_rotary(config, head_width);                            // of all layers
//     const Rotary local = read_rotary(config, head_width, {.layer_type = "sliding_attention"});
//     const Rotary quarter = read_rotary(config, head_width, {.share = 0.25});
#pragma once

#include <optional>
#include <string>

#include "qkv/layer/mechanism/rotary.h"
#include "qkv/published/huggingface/hf_config.h"

namespace qkv {

// The defaults of a family, for what the file leaves out.
struct RotaryDefaults {
  std::string layer_type = {};  // of `rope_parameters`
  double base = 10000;
  // The part of a head that is rotated. None: the whole head, and `partial_rotary_factor` is ignored, as in
  // transformers.
  std::optional<double> share = {};
};
Rotary read_rotary(const HfConfig& config, int64_t head_width, const RotaryDefaults& defaults = {});

// The longest text that the model was made for: max_position_embeddings, times the factor of dynamic scaling, which
// takes effect beyond it. 0: the file does not say.
int64_t read_context_length(const HfConfig& config);

}  // namespace qkv
