// The 32 numbers of a block of Q4 and Q5: two numbers share a byte, and fifth bits stand apart.
#pragma once

#include <cstdint>

namespace qkv {

// Number j of 16 bytes of two numbers each.
inline int four_bits(const uint8_t* q, int j) { return j < 16 ? q[j] & 15 : q[j - 16] >> 4; }
inline int five_bits(const uint8_t* high, const uint8_t* q, int j) {
  return four_bits(q, j) | (high[j / 8] >> j % 8 & 1) << 4;
}

// All 32 numbers, sooner than one by one.
inline void take_four_bits(const uint8_t* q, uint8_t* numbers) {
  for (int j = 0; j < 16; ++j) {
    numbers[j] = q[j] & 15;
    numbers[j + 16] = static_cast<uint8_t>(q[j] >> 4);
  }
}

// q[j] is assigned for j < 16 and extended for j + 16, so j must ascend.
inline void store_four_bits(int value, uint8_t* q, int j) {
  if (j < 16)
    q[j] = static_cast<uint8_t>(value & 15);
  else
    q[j - 16] = static_cast<uint8_t>(q[j - 16] | (value & 15) << 4);
}
inline void store_five_bits(int value, uint8_t* high, uint8_t* q, int j) {
  store_four_bits(value, q, j);
  if (j % 8 == 0) high[j / 8] = 0;
  high[j / 8] = static_cast<uint8_t>(high[j / 8] | (value >> 4 & 1) << j % 8);
}

}  // namespace qkv
