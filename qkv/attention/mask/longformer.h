// Longformer: a window around every query, and some positions that see all and are seen by all (Beltagy, Peters and
// Cohan, "Longformer: The Long-Document Transformer", 2020).
//
//     visible(i, j)  <=>  |p - j| <= reach, or p or j is a global position        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = longformer(256, {0})});
//
// Cost follows T * (2 reach + 1 + 2 global positions). Causal: causal() & longformer(...).
#pragma once

#include <utility>
#include <vector>

#include "qkv/attention/mask/global_positions.h"
#include "qkv/attention/mask/window.h"
#include "qkv/base/error.h"

namespace qkv {

inline MaskPtr longformer(int64_t reach, std::vector<int64_t> positions) {
  require(reach >= 0, "longformer", "the reach is a number of positions, got {}", reach);
  return window(reach) | global_positions(std::move(positions));
}

}  // namespace qkv
