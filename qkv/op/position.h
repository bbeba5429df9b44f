// Sinusoidal position encoding (Vaswani et al., 2017, section 3.5):
//
//     P[p, c] = sin(p / 10000^(c / C))           c even
//     P[p, c] = cos(p / 10000^((c - 1) / C))     c odd
//
//     Tensor table = sinusoidal(100, 512);          // positions 0 to 99, (100, 512)
//
// Row i is position first + i. C may be odd. Computed in double. Errors: a negative length or position, a width
// below 1.
#pragma once

#include "qkv/tensor/tensor.h"

namespace qkv {

Tensor sinusoidal(int64_t length, int64_t width, int64_t first = 0);

}  // namespace qkv
