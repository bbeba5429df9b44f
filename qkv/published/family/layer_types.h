// Which layers of a Hugging Face model have a sliding window. Version 5 of transformers writes `layer_types`; before,
// each family had a rule.
//
//     AttentionPattern p = layer_pattern(hf, layers, {.full = rotary, .sliding = rotary + SlidingWindow{511}},
//                                        [](int64_t layer) { return layer % 2 == 0; });        // the rule
#pragma once

#include <algorithm>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/layer/attention_pattern.h"
#include "qkv/published/huggingface/hf_config.h"

namespace qkv {

constexpr auto every_layer = [](int64_t) { return true; };

struct LayerVariants {
  AttentionVariant full, sliding;
};

template <class Rule>
AttentionPattern layer_pattern(const HfConfig& hf, int64_t layers, const LayerVariants& variants, Rule is_sliding) {
  const std::vector<std::string> types = hf.texts("layer_types");
  require<InputError>(types.empty() || std::ssize(types) == layers, hf.file(), "'layer_types' has {} for {}",
                      counted(types.size(), "entry", "entries"), counted(layers, "layer"));
  std::vector<bool> is_sliding_layer;
  for (int64_t layer = 0; layer < layers; ++layer) {
    bool sliding = is_sliding(layer);
    if (!types.empty()) {
      const std::string& type = types[static_cast<size_t>(layer)];
      require<InputError>(type == "sliding_attention" || type == "full_attention", hf.file(),
                          "'layer_types' must be full_attention or sliding_attention, got {}", quoted_name(type));
      sliding = type == "sliding_attention";
    }
    is_sliding_layer.push_back(sliding);
  }
  // A pattern repeats itself: its shortest period is enough.
  size_t period = 1;
  const auto repeats = [&] {
    return std::equal(is_sliding_layer.begin() + static_cast<ptrdiff_t>(period), is_sliding_layer.end(),
                      is_sliding_layer.begin());
  };
  while (!repeats()) ++period;
  std::vector<AttentionPattern::Group> groups;
  for (size_t n = 0; n < period; ++n) groups.push_back({is_sliding_layer[n] ? variants.sliding : variants.full, 1});
  return AttentionPattern(groups);
}

}  // namespace qkv
