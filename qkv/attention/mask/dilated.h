// Dilated window: every so many positions, as far as a window of that many steps (Beltagy et al., "Longformer",
// 2020, section 3.1, figure 2c; after van den Oord et al., "WaveNet", 2016).
//
//     visible(i, j)  <=>  |p - j| <= reach * dilation and (p - j) mod dilation = 0        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = causal() & dilated(64, 4)});
//
// The engine computes whole tiles, so a dilation of n costs what a window n times as wide costs.
#pragma once

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr dilated(int64_t reach, int64_t dilation);

}  // namespace qkv
