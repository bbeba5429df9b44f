// Matrix products by a weight as it stands in memory, which was not packed (PackedMatrix::in_place() in matmul.h).
//
//     multiply_in_place({x, tokens, in}, {weight, out, in}, y, out, {.bias = bias});             // y = x W^T + bias
//
// For few rows of x the weight is read once, as a packed one, and transposed in registers. For many, a block of it at a
// time is transposed to a panel that they share.
#pragma once

#include "qkv/kernel/matmul.h"

namespace qkv::kernel {

// w (N x K) has column_stride 1. Defined for floats and bf16 (uint16_t).
template <class Element>
void multiply_in_place(Matrix a, MatrixOf<Element> w, float* c, int64_t c_row_stride, MatmulOptions options);

}  // namespace qkv::kernel
