// Row-wise and element-wise loops: what surrounds the matrix products of a Transformer. x, y are rows of n
// contiguous floats; in place (y == x) is allowed where the comment says so.
#pragma once

#include <cstdint>

namespace qkv::kernel {

struct RowKernels {
  // y = exp(x - max) / sum; returns log(sum exp(x)). Entries equal to -infinity get weight 0; a row of nothing else
  // is all zero and returns -infinity. In place allowed.
  float (*softmax)(const float* x, int64_t n, float* y);
};

}  // namespace qkv::kernel
