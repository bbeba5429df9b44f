// Dense: a table with one entry per pair.
//
//     visible(b, h, i, j)  <=>  table[b, h, i, j] != 0       table (B, H, T, S), u8; any axis may have length 1
//
//     Tensor y = attention(q, k, v, {.mask = dense(table)});
//
// The table must not change afterwards: it is read once per shape and stored as a block map, with one bit per pair
// where a block is partially masked. Errors: a table of another shape or type.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr dense(const Tensor& table);

}  // namespace qkv
