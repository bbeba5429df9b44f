// Q6_K: 256 numbers of 6 bits in 16 parts of 16, each with a scale of 8 bits; 210 bytes, 6.5625 bits a number.
//
//     y_i = (d scale_p) (q_i - 32),   p = i / 16,   q_i = 0 to 63,   scale_p = -128 to 127
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ6_K {
  uint8_t q
      [128];  // byte 64 h + 32 s + l: four bits of number 128 h + 32 s + l in the low half, of 128 h + 64 + 32 s + l in the high
  uint8_t high[64];  // bits 2 s of byte 32 h + l: the two upper bits of number 128 h + 32 s + l
  int8_t scales[16];
  StoredHalf d;
};
static_assert(sizeof(BlockQ6_K) == 210);

bool encode_q6_k(const float* x, BlockNumbers& to);
void put_together_q6_k(const BlockNumbers& from, uint8_t* block);
void take_apart_q6_k(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
