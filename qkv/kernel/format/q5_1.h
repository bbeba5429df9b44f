// Q5_1: 32 numbers of 5 bits with a scale and a minimum; 24 bytes, 6 bits a number.
//
//     y_i = d q_i + m,   q_i = 0 to 31,   m = min x,   d = (max x - min x) / 31
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ5_1 {
  StoredHalf d, m;
  uint8_t high[4];  // bit j % 8 of byte j / 8: the fifth bit of number j
  uint8_t q[16];    // byte j: four bits of number j in the low half, of number j + 16 in the high half
};
static_assert(sizeof(BlockQ5_1) == 24);

bool encode_q5_1(const float* x, BlockNumbers& to);
void put_together_q5_1(const BlockNumbers& from, uint8_t* block);
void take_apart_q5_1(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
