// Sliding window: a query looks at `left` positions before its own and `right` after it (Beltagy et al.,
// "Longformer", 2020, section 3.1).
//
//     visible(i, j)  <=>  p - left <= j <= p + right        p = i + offset; bounds inclusive, -1 is unbounded
//
//     Tensor y = attention(q, k, v, {.mask = causal() & window(256)});   // 256 positions back
//     Tensor z = attention(q, k, v, {.mask = window(128, 128)});
//
// offset is S - T unless given: the last query stands on the last key.
#pragma once

#include <optional>

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr window(int64_t left, int64_t right, std::optional<int64_t> offset = {});
inline MaskPtr window(int64_t reach) { return window(reach, reach); }  // as far to both sides

}  // namespace qkv
