// Q3_K: 256 numbers of 3 bits in 16 parts of 16, each with a scale of 6 bits; 110 bytes, 3.4375 bits a number.
//
//     y_i = (d (scale_p - 32)) (q_i - 4),   p = i / 16,   q_i = 0 to 7,   scale_p = 0 to 63
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ3_K {
  uint8_t high[32];  // bit s of byte l: the third bit of number 32 s + l
  uint8_t q[64];     // bits 2 s of byte 32 h + l: two bits of number 128 h + 32 s + l
  uint8_t scales
      [12];  // scale p: four bits in byte p % 8, low half for p < 8; two more in bits 2 (p / 4) of byte 8 + p % 4
  StoredHalf d;
};
static_assert(sizeof(BlockQ3_K) == 110);

bool encode_q3_k(const float* x, BlockNumbers& to);
void put_together_q3_k(const BlockNumbers& from, uint8_t* block);
void take_apart_q3_k(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
