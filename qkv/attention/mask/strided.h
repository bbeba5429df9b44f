// Strided pattern: the last `stride` positions, and every stride-th one before them (Child et al., "Generating Long
// Sequences with Sparse Transformers", 2019, section 4.2; the patterns of both of its heads in one).
//
//     visible(i, j)  <=>  j <= p and (p - j < stride or (p - j) mod stride = 0)        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = strided(64)});
//
// Every tile has visible keys, so this takes as long as causal(), unlike a window.
// Errors: a stride that is not positive.
#pragma once

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr strided(int64_t stride);

}  // namespace qkv
