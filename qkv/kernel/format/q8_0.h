// Q8_0: 32 numbers of 8 bits with one scale; 34 bytes, 8.5 bits a number.
//
//     y_i = q_i d,   d = max |x| / 127,   q_i = x_i / d rounded to nearest, ties away from zero
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockQ8_0 {
  StoredHalf d;
  int8_t q[32];  // -127 to 127; other writers may store -128
};
static_assert(sizeof(BlockQ8_0) == 34);

bool encode_q8_0(const float* x, BlockNumbers& to);
void put_together_q8_0(const BlockNumbers& from, uint8_t* block);
void take_apart_q8_0(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
