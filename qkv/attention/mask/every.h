// Every step-th position, counted from the query's own; dilated() and strided() use it.
//
//     visible(i, j)  <=>  (p - j) mod step = 0        p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = causal() & every(8)});
//
// Errors: a step that is not positive.
#pragma once

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr every(int64_t step);

}  // namespace qkv
