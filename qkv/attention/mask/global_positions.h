// Global positions see all keys and are seen by all queries (Beltagy et al., "Longformer", 2020, section 3.1).
//
//     visible(i, j)  <=>  p is in positions, or j is        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = window(256) | global_positions({0})});
//
// Positions may be in any order; those after the last key are ignored. Errors: a negative position.
#pragma once

#include <vector>

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr global_positions(std::vector<int64_t> positions);

}  // namespace qkv
