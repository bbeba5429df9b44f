// Dilated sliding window: every dilation-th position, `radius` of them to each side (Beltagy et al., "Longformer",
// 2020, section 3.1, figure 2c; after van den Oord et al., "WaveNet", 2016).
//
//     visible(i, j)  <=>  |p - j| <= radius * dilation and (p - j) mod dilation = 0        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = causal() & dilated(64, 4)});
//
// The engine computes whole tiles: the cost is that of a window of radius * dilation.
// Errors: a negative radius, a dilation that is not positive.
#pragma once

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr dilated(int64_t radius, int64_t dilation);

}  // namespace qkv
