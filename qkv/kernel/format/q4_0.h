// Q4_0: 32 numbers of 4 bits with one scale; 18 bytes, 4.5 bits a number.
//
//     y_i = d (q_i - 8),   q_i = 0 to 15
//
// The number of the largest magnitude is -8 d exactly, but for the rounding of d to f16.
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ4_0 {
  StoredHalf d;
  uint8_t q[16];  // byte j: number j in the low four bits, number j + 16 in the high four
};
static_assert(sizeof(BlockQ4_0) == 18);

bool encode_q4_0(const float* x, BlockNumbers& to);
void put_together_q4_0(const BlockNumbers& from, uint8_t* block);
void take_apart_q4_0(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
