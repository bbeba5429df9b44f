// IQ4_NL: 32 numbers of a table of 16 (block_layout.h), with one scale; 18 bytes, 4.5 bits a number. The table is denser near zero, as
// weights are.
//
//     y_i = d iq4_nl_table[q_i]
#pragma once

#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct BlockIQ4_NL {
  StoredHalf d;
  uint8_t q[16];  // byte j: number j in the low four bits, number j + 16 in the high four
};
static_assert(sizeof(BlockIQ4_NL) == 18);

bool encode_iq4_nl(const float* x, BlockNumbers& to);
void put_together_iq4_nl(const BlockNumbers& from, uint8_t* block);
void take_apart_iq4_nl(const uint8_t* block, BlockNumbers& to);

}  // namespace qkv
