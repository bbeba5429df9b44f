// IQ4_XS: 256 numbers of the table of IQ4_NL, of which 32 share a scale of 6 bits; 136 bytes, 4.25 bits a number.
//
//     y_i = d (s_p - 32) iq4_nl_table[q_i],   p = i / 32, s_p = 0 to 63
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockIQ4_XS {
  StoredHalf d;
  uint8_t high[2];  // upper two bits of s_p at bit 2 p of the 16, the low byte first
  uint8_t low[4];   // byte b: lower four of s_2b in the low bits, of s_2b+1 in the high ones
  uint8_t q[128];   // byte 16 p + j: number 32 p + j in the low four bits, number 32 p + j + 16 in the high four
};
static_assert(sizeof(BlockIQ4_XS) == 136);

bool encode_iq4_xs(const float* x, BlockNumbers& to);
void put_together_iq4_xs(const BlockNumbers& from, uint8_t* block);
void take_apart_iq4_xs(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
