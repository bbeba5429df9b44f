// Every so many positions, counted from the query's own: what dilated() and strided() are made of.
//
//     visible(i, j)  <=>  (p - j) mod step = 0        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = causal() & every(8)});
#pragma once

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr every(int64_t step);

}  // namespace qkv
