// The 32 numbers of a block of Q4 and Q5: two numbers share a byte, and fifth bits stand apart.
#pragma once

#include <cstdint>

namespace qkv {

// Numbers j and j + 16 are in byte j.
inline void store_four_bits(const uint8_t* numbers, uint8_t* q) {
  for (int j = 0; j < 16; ++j) q[j] = static_cast<uint8_t>((numbers[j] & 15) | numbers[j + 16] << 4);
}
inline void take_four_bits(const uint8_t* q, uint8_t* numbers) {
  for (int j = 0; j < 16; ++j) {
    numbers[j] = q[j] & 15;
    numbers[j + 16] = static_cast<uint8_t>(q[j] >> 4);
  }
}

inline void store_five_bits(const uint8_t* numbers, uint8_t* high, uint8_t* q) {
  store_four_bits(numbers, q);
  for (int i = 0; i < 4; ++i) high[i] = 0;
  for (int j = 0; j < 32; ++j) high[j / 8] = static_cast<uint8_t>(high[j / 8] | (numbers[j] >> 4 & 1) << j % 8);
}
inline void take_five_bits(const uint8_t* high, const uint8_t* q, uint8_t* numbers) {
  take_four_bits(q, numbers);
  // One word, which no number that is written can change.
  const uint32_t fifth = high[0] | uint32_t{high[1]} << 8 | uint32_t{high[2]} << 16 | uint32_t{high[3]} << 24;
  for (int j = 0; j < 32; ++j) numbers[j] = static_cast<uint8_t>(numbers[j] | (fifth >> j & 1) << 4);
}

}  // namespace qkv
