// Dense: a table that says of every pair whether it is visible.
//
//     visible(b, h, i, j)  <=>  table[b, h, i, j] != 0       table (B, H, T, S), u8; any axis may have length 1
//
//     Tensor y = attention(q, k, v, {.mask = dense(table)});
//
// The table must not change afterwards: it is read once for a shape and noted as a map of blocks, a bit a pair
// where a block of pairs is neither all visible nor all hidden.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr dense(const Tensor& table);

}  // namespace qkv
