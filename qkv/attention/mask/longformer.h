// Longformer: a sliding window and global positions (Beltagy, Peters and Cohan, "Longformer: The Long-Document
// Transformer", 2020).
//
//     visible(i, j)  <=>  |p - j| <= radius, or p or j is a global position        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = longformer(256, {0})});
//
// The cost is proportional to T * (2 radius + 1 + 2 global positions). Causal: causal() & longformer(...).
// Errors: a negative radius or position.
#pragma once

#include <utility>
#include <vector>

#include "qkv/attention/mask/global_positions.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/error.h"

namespace qkv {

inline MaskPtr longformer(int64_t radius, std::vector<int64_t> positions) {
  require(radius >= 0, "longformer", "the radius must not be negative, got {}", radius);
  return window(radius) | global_positions(std::move(positions));
}

}  // namespace qkv
