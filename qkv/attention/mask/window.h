// Sliding window: a query attends to `left` positions before its own and `right` after it (Beltagy et al.,
// "Longformer", 2020, section 3.1).
//
//     visible(i, j)  <=>  p - left <= j <= p + right        p = i + offset; -1 is unbounded
//
//     Tensor y = attention(q, k, v, {.mask = causal() & window(256)});   // its own and 256 earlier positions
//     Tensor z = attention(q, k, v, {.mask = window(128, 128)});
//
// offset: S - T by default, the last query is at the last key. Errors: a bound below -1.
#pragma once

#include <optional>

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr window(int64_t left, int64_t right, std::optional<int64_t> offset = {});
inline MaskPtr window(int64_t radius) { return window(radius, radius); }

}  // namespace qkv
