// Frequencies of rotary position embedding (op/rotary.h) in models that were extended to longer texts than they
// were first trained on: f'_c and the multiplier m of cosines and sines, from f_c = base^(-2c/d), c < d/2.
//
//     none           f'_c = f_c                                                            m = 1, the default
//     linear         f'_c = f_c / factor          position interpolation (Chen et al., 2023)
//     dynamic        f'_c = base'^(-2c/d),  base' = base (1 + factor (max(n, P) / P - 1))^(d/(d-2))
//                                                 NTK-aware (bloc97 and emozilla, 2023; in Peng et al., 2023, appendix B)
//     llama3         f'_c = s f_c + (1 - s) f_c / factor,  s = clamp((P f_c / 2 pi - low) / (high - low), 0, 1)
//                                                 (Llama Team, "The Llama 3 Herd of Models", 2024)
//     yarn           f'_c = r f_c / factor + (1 - r) f_c,  r = clamp((c - lo) / (hi - lo), 0, 1),
//                    lo, hi = floor, ceil of d ln(P / (2 pi beta)) / (2 ln base), beta fast and slow; within 0 and d - 1
//                    m = g(1), or g(mscale) / g(mscale_all_dim) if both are given;  g(x) = 0.1 x ln(max(factor, 1)) + 1
//                                                 (Peng et al., "YaRN", 2023)
//     longrope       f'_c = f_c / (n > P ? long_c : short_c),  m = sqrt(1 + ln(max(factor, 1)) / ln P)
//                                                 (Ding et al., "LongRoPE", 2024)
//     proportional   f'_c = base^(-2c/D) / factor for c < d/2, 0 for the other pairs of the D columns   (Gemma 4, 2025)
//
// P: original_positions, the length of the first training. n: length, the longest sequence that the angles are for.
// A fixed n makes decoding steps equal the whole. As a mechanism of attention (layer/mechanism/rotary.h), 0 derives
// n from the sequence, as Hugging Face does: the cached keys of a growing sequence stay as they are, so results
// depend on where the prompt ended and, in a padded batch, on its longest row.
//
//     const RotaryScaling scaling = {.type = RotaryScalingType::llama3, .factor = 8, .original_positions = 8192};
//     const RotaryFrequencies f = rotary_frequencies(5e5, 128, scaling);
//     Variable rotated = rotary(q, {.frequencies = f.frequencies, .multiplier = f.multiplier});
//
// Errors: those that rotary_scaling_error() describes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/base/names.h"

namespace qkv {

enum class RotaryScalingType { none, linear, dynamic, llama3, yarn, longrope, proportional };
constexpr auto names_of(RotaryScalingType) {
  using enum RotaryScalingType;
  return std::array{
      Named{none, "none"}, Named{linear, "linear"},     Named{dynamic, "dynamic"},          Named{llama3, "llama3"},
      Named{yarn, "yarn"}, Named{longrope, "longrope"}, Named{proportional, "proportional"}};
}

constexpr bool depends_on_length(RotaryScalingType type) {
  return type == RotaryScalingType::dynamic || type == RotaryScalingType::longrope;
}

struct RotaryScaling {
  RotaryScalingType type = RotaryScalingType::none;
  double factor = 1;               // of the length
  int64_t original_positions = 0;  // P: dynamic, llama3, yarn, longrope
  int64_t length = 0;              // n: dynamic, longrope; 0: of the sequence, where there is one
  double attention_factor = 0;     // m of yarn, longrope; 0: the formula
  // llama3
  double low_frequency_factor = 1, high_frequency_factor = 4;
  // yarn
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;                   // false: lo and hi without floor and ceil
  double mscale = 0, mscale_all_dim = 0;  // 0: not given
  // longrope: d/2 each
  std::vector<double> short_factors = {}, long_factors = {};

  bool operator==(const RotaryScaling&) const = default;
};

struct RotaryFrequencies {
  std::vector<double> frequencies;  // one for each pair of columns
  double multiplier = 1;
};

// For the first `width` (d) columns of a head. Proportional: head_width (D) / 2 frequencies; head_width 0: d.
RotaryFrequencies rotary_frequencies(double base, int64_t width, const RotaryScaling& scaling = {},
                                     int64_t head_width = 0);

// Describes a setting that is missing, does not fit or is not read by the type; "" if there is none.
std::string rotary_scaling_error(double base, int64_t width, const RotaryScaling& scaling);

}  // namespace qkv
