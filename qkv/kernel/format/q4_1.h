// Q4_1: 32 numbers of 4 bits with a scale and a minimum; 20 bytes, 5 bits a number.
//
//     y_i = d q_i + m,   q_i = 0 to 15,   m = min x,   d = (max x - min x) / 15
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ4_1 {
  StoredHalf d, m;
  uint8_t q[16];  // byte j: number j in the low four bits, number j + 16 in the high four
};
static_assert(sizeof(BlockQ4_1) == 20);

bool encode_q4_1(const float* x, BlockNumbers& to);
void put_together_q4_1(const BlockNumbers& from, uint8_t* block);
void take_apart_q4_1(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
