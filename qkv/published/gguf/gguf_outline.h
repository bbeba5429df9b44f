// What a GGUF file says about its model without the weights: metadata, the shapes of the tensors, and the numbers of those
// that are settings.
//
//     const GgufOutline outline = file.outline();               // GgufFile
//     outline.shape("token_embd.weight")                        // InputError for a tensor that is not there
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/published/gguf/gguf_metadata.h"
#include "qkv/tensor/shape.h"

namespace qkv {

// Factors of the frequencies of rotary positions, of all texts, of long and of short ones.
inline constexpr const char* gguf_rope_factors = "rope_freqs.weight";
inline constexpr const char* gguf_long_rope_factors = "rope_factors_long.weight";
inline constexpr const char* gguf_short_rope_factors = "rope_factors_short.weight";

struct GgufOutline {
  const GgufMetadata& metadata;
  std::map<std::string, Shape, std::less<>> shapes = {};
  std::map<std::string, std::vector<double>, std::less<>> factors = {};  // of those three

  bool has(std::string_view tensor) const { return shapes.find(tensor) != shapes.end(); }
  const Shape& shape(std::string_view tensor) const;
  const std::vector<double>& numbers(std::string_view tensor) const;
};

}  // namespace qkv
