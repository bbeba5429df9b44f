// Padding: only the first `length` keys of a batch row are real ("valid lengths" in Zhang et al., "Dive into Deep
// Learning", section 11.3).
//
//     visible(b, i, j)  <=>  j < lengths[b]         lengths (B)
//     visible(b, i, j)  <=>  j < lengths[b, i]      lengths (B, T): every query has its own
//
//     Tensor y = attention(q, k, v, {.mask = padding({3, 7})});
//
// A length may be 0: such a query sees nothing, and its output is zero. A length beyond S is an error.
#pragma once

#include <vector>

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr padding(std::vector<int32_t> lengths);
MaskPtr padding(const Tensor& lengths);  // i32, (B) or (B, T)

}  // namespace qkv
