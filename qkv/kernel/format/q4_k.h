// Q4_K: 256 numbers of 4 bits in 8 parts of 32, each with a scale and an offset of 6 bits; 144 bytes, 4.5 bits a number.
//
//     y_i = (d scale_p) q_i - dmin offset_p,   p = i / 32,   q_i = 0 to 15
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ4_K {
  StoredHalf d, dmin;
  uint8_t scales[12];  // SixBits (six_bits.h)
  uint8_t q[128];      // byte 32 h + l: number 64 h + l in the low four bits, number 64 h + 32 + l in the high four
};
static_assert(sizeof(BlockQ4_K) == 144);

bool encode_q4_k(const float* x, BlockNumbers& to);
void put_together_q4_k(const BlockNumbers& from, uint8_t* block);
void take_apart_q4_k(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
