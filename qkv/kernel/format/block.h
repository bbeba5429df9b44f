// What the formats of blocks share: f16 numbers at any address, and what numbers a block can hold.
//
// A block is a struct of bytes, so it may stand anywhere in a file. Its f16 numbers are two bytes each, low first.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "qkv/kernel/block_layout.h"
#include "qkv/tensor/half.h"

namespace qkv {

// f16 as it is stored in a block.
struct StoredHalf {
  uint8_t bytes[2];

  float value() const { return float_of_half(static_cast<uint16_t>(bytes[0] | bytes[1] << 8)); }
  // False if x is not finite as f16.
  bool store(float x) {
    const uint16_t half = half_of_float(x);
    bytes[0] = static_cast<uint8_t>(half);
    bytes[1] = static_cast<uint8_t>(half >> 8);
    return (half & 0x7c00u) != 0x7c00u;
  }
};

inline StoredHalf negated(StoredHalf x) { return {{x.bytes[0], static_cast<uint8_t>(x.bytes[1] ^ 0x80)}}; }

// A block taken apart. For each number of a group
//     y = d scale (q - zero) - minimum factor
// where what a format lacks is 1 (scale, factor) or 0 (minimum), and zero is that of its layout (block_layout.h).
struct BlockNumbers {
  StoredHalf d = {}, minimum = {};
  int8_t scales[kernel::max_groups] = {};     // of the groups
  uint8_t minimums[kernel::max_groups] = {};  // their factors of the minimum
  uint8_t numbers[kernel::max_block] = {};    // q
};

// The first number of the largest magnitude; a NaN if one is.
inline float largest_with_sign(const float* x, int n) {
  float largest = x[0];
  for (int i = 1; i < n && !std::isnan(largest); ++i)
    if (!(std::fabs(x[i]) <= std::fabs(largest))) largest = x[i];
  return largest;
}
inline float largest_magnitude(const float* x, int n) { return std::fabs(largest_with_sign(x, n)); }

// 1 / d, or 0 where that is no finite number: numbers so small are 0 in every format.
inline float inverse_or_zero(float d) {
  const float inverse = 1 / d;
  return std::isfinite(inverse) ? inverse : 0;
}

// The nearest integer to x >= 0, halves up.
inline int half_rounded_up(float x) {
  const float raised = x + 0.5f;
  return static_cast<int>(raised);
}

// The nearest integer, ties to even, within a range that holds it first.
inline int nearest_within(float x, int low, int high) {
  return static_cast<int>(std::lrint(std::clamp(x, static_cast<float>(low), static_cast<float>(high))));
}

}  // namespace qkv
