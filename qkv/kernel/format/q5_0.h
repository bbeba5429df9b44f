// Q5_0: 32 numbers of 5 bits with one scale; 22 bytes, 5.5 bits a number.
//
//     y_i = d (q_i - 16),   q_i = 0 to 31
//
// The number of the largest magnitude is -16 d exactly, but for the rounding of d to f16.
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ5_0 {
  StoredHalf d;
  uint8_t high[4];  // bit j % 8 of byte j / 8: the fifth bit of number j
  uint8_t q[16];    // byte j: four bits of number j in the low half, of number j + 16 in the high half
};
static_assert(sizeof(BlockQ5_0) == 22);

bool encode_q5_0(const float* x, BlockNumbers& to);
void put_together_q5_0(const BlockNumbers& from, uint8_t* block);
void take_apart_q5_0(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
