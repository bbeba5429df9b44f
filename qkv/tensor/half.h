// f16 in files (IEEE binary16) to float and back, including subnormal numbers and infinities.
//
//     float_of_half(half_of_float(0.1f))    // 0.0999755859375f, the nearest f16
#pragma once

#include <bit>
#include <cstdint>

namespace qkv {

inline float float_of_half(uint16_t half) {
  const uint32_t sign = (half & 0x8000u) << 16, exponent = half >> 10 & 31u, fraction = half & 0x3ffu;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 31 ? 255 : exponent + (127 - 15);
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

// The nearest f16, ties to even; an infinity from 65520 on.
inline uint16_t half_of_float(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x), magnitude = bits & 0x7fffffffu;
  const auto sign = static_cast<uint16_t>(bits >> 16 & 0x8000u);
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // 65520: halfway from 65504 to 2^16
  if (magnitude < 0x38800000u) {                                               // below 2^-14: multiples of 2^-24
    const float shifted =
        std::bit_cast<float>(magnitude) + 0.5f;  // whose last bit is 2^-24: rounds to nearest even
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | (rounded - ((127u - 15u) << 23)) >> 13);
}

}  // namespace qkv
