// First-block bias: the keys of block 0 count 1 + copies times for the queries between the first and the last
// block. It is BigBird as Hugging Face transformers evaluates it: there every random block is a copy of block 0,
// whereas the paper draws them (Zaheer et al., "Big Bird: Transformers for Longer Sequences", 2020).
//
//     s_ij <- s_ij + ln(1 + copies)       if J = 0, I > 0 and I is not the last block of the keys
//                                         I = p_i / block, J = j / block, p_i = i + S - T
//
//     const MaskPtr mask = bigbird({.block = 64, .global_blocks = {0, -1}, .random_blocks = 0});
//     Tensor y = attention(q, k, v, {.modify = {first_block_bias(64, /*copies=*/3)}, .mask = mask});
//
// n equal keys together have n times the weight of one, which is what adding ln(n) to its score does.
// Errors: a block that is not positive, a negative number of copies.
#pragma once

#include "qkv/attention/modify/modifier.h"

namespace qkv {

ModifierPtr first_block_bias(int64_t block, int64_t copies);

}  // namespace qkv
