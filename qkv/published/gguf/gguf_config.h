// The configuration of a model as metadata of a GGUF file: the other direction of gguf_settings.h.
//
//     GgufKeys keys;
//     const TransformerConfig held = config_in_gguf(config);   // what of it such a file can hold
//     add_config(keys, "llama", held);
//     for (const auto& [name, numbers] : rope_factors(held)) ...    // tensors
//
// No table of what an architecture can express is needed: a file can be written if reading it gives the configuration
// again. config_difference() compares the two.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/model/config.h"
#include "qkv/published/gguf/gguf_keys.h"

namespace qkv {

// Numbers are floats, norms have their factor itself, Llama 3's formula of rotary positions is a list of factors, and a
// masked model has no head. What does not change the result, such as dropout, is left out.
TransformerConfig config_in_gguf(const TransformerConfig& config);

void add_config(GgufKeys& keys, std::string_view architecture, const TransformerConfig& held);

// By the name of the tensor; none without a list of factors.
std::map<std::string, std::vector<float>> rope_factors(const TransformerConfig& held);

// The first setting in which they differ: "'gated_ffn' is true, not false"; "": none.
std::string config_difference(const TransformerConfig& held, const TransformerConfig& read);

}  // namespace qkv
