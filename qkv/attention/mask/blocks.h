// A block mask: a table of the blocks of keys that each block of queries may attend to (Zaheer et al., "Big Bird:
// Transformers for Longer Sequences", 2020; block-sparse attention in general).
//
//     visible(i, j)  <=>  table[b, h, i / block, j / block] != 0
//
//     Tensor y = attention(q, k, v, {.mask = blocks(table, 64)});
//
// table is u8 of shape (B or 1, H or 1, ceil(T/block), ceil(S/block)). The cost is proportional to the visible
// blocks: masked tiles are skipped. Errors: a table of another shape or type, a block size that is not positive.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr blocks(const Tensor& table, int64_t block);

}  // namespace qkv
