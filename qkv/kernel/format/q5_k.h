// Q5_K: 256 numbers of 5 bits in 8 parts of 32, each with a scale and an offset of 6 bits; 176 bytes, 5.5 bits a number.
//
//     y_i = (d scale_p) q_i - dmin offset_p,   p = i / 32,   q_i = 0 to 31
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ5_K {
  StoredHalf d, dmin;
  uint8_t scales[12];  // SixBits (six_bits.h)
  uint8_t high[32];    // bit p of byte l: the fifth bit of number 32 p + l
  uint8_t q
      [128];  // byte 32 h + l: four bits of number 64 h + l in the low half, of number 64 h + 32 + l in the high half
};
static_assert(sizeof(BlockQ5_K) == 176);

bool encode_q5_k(const float* x, BlockNumbers& to);
void put_together_q5_k(const BlockNumbers& from, uint8_t* block);
void take_apart_q5_k(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
