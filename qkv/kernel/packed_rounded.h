// A factor of a product of rounded factors that is rounded before it is packed, and takes half of the memory until then.
//
//     round_to_bf16(x, rows * columns, kept);
//     matmul(a, packed_rounded(Bf16Matrix(kept, rows, columns)), c, columns);
//                                     // the bits of matmul(a, PackedMatrix::rounded(Matrix(x, rows, columns)), c, columns)
#pragma once

#include "qkv/kernel/matmul.h"

namespace qkv::kernel {

// As PackedMatrix::rounded() rounds: by the instructions of bf16 products, which may round denormal numbers to zero.
void round_to_bf16(const float* x, int64_t count, uint16_t* to);

// `b` by rows: its column_stride is 1.
PackedMatrix packed_rounded(Bf16Matrix b);

}  // namespace qkv::kernel
