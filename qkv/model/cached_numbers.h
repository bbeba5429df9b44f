// What decoding keeps of earlier positions, in numbers: keys and values of a Transformer, states of a recurrent encoder.
//
//     cached_numbers(config).target                                 // 2 K layers, of each target token of a hypothesis
#pragma once

#include <string>

#include "qkv/model/config.h"

namespace qkv {

struct CachedNumbers {
  int64_t target = 0, source = 0;  // of a token of the target of a hypothesis, and of the source
  std::string target_formula = "4 * 2 K layers", source_formula = "4 * 2 K layers";  // of their bytes in f32
};
CachedNumbers cached_numbers(const ModelConfig& config);

int64_t key_value_width(const TransformerConfig& config);  // K, of all heads of a layer

}  // namespace qkv
