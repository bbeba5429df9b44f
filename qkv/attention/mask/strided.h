// Strided: the last positions, and every so many before them (Child et al., "Generating Long Sequences with Sparse
// Transformers", 2019, section 4.2; both of its heads' patterns in one).
//
//     visible(i, j)  <=>  j <= p and (p - j < stride or (p - j) mod stride = 0)        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = strided(64)});
//
// Keys of the far part lie in all tiles: it saves no time against causal(), unlike a window.
#pragma once

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr strided(int64_t stride);

}  // namespace qkv
