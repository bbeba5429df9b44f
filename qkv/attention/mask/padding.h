// Key padding: only the first `length` keys of a batch row are real ("valid lengths" in Zhang et al., "Dive into
// Deep Learning", section 11.3).
//
//     visible(b, i, j)  <=>  j < lengths[b]         lengths (B)
//     visible(b, i, j)  <=>  j < lengths[b, i]      lengths (B, T): one per query
//
//     Tensor y = attention(q, k, v, {.mask = padding({3, 7})});
//
// A query with length 0 sees no key, and its output is zero. Errors: a length that is negative or beyond S.
#pragma once

#include <vector>

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr padding(std::vector<int32_t> lengths);
MaskPtr padding(const Tensor& lengths);  // i32, (B) or (B, T)

}  // namespace qkv
