// Blocks: a table says which blocks of queries may look at which blocks of keys (Zaheer et al., "Big Bird:
// Transformers for Longer Sequences", 2020; block-sparse attention in general).
//
//     visible(i, j)  <=>  table[b, h, i / block, j / block] is not 0
//
//     Tensor y = attention(q, k, v, {.mask = blocks(table, 64)});
//
// table is u8 of shape (B or 1, H or 1, ceil(T/block), ceil(S/block)). Cost follows the blocks that are set: a tile
// without one is never computed.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr blocks(const Tensor& table, int64_t block);

}  // namespace qkv
