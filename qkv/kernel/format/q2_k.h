// Q2_K: 256 numbers of 2 bits in 16 parts of 16, each with a scale and an offset of 4 bits; 84 bytes, 2.625 bits a
// number.
//
//     y_i = (d scale_p) q_i - dmin offset_p,   p = i / 16,   q_i = 0 to 3
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ2_K {
  uint8_t scales[16];  // byte p: the scale of part p in the low four bits, its offset in the high four
  uint8_t q[64];       // bits 2 s of byte 32 h + l: number 128 h + 32 s + l
  StoredHalf d, dmin;
};
static_assert(sizeof(BlockQ2_K) == 84);

bool encode_q2_k(const float* x, BlockNumbers& to);
void put_together_q2_k(const BlockNumbers& from, uint8_t* block);
void take_apart_q2_k(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
