// A factor of a product of rounded factors that is rounded before it is packed, and takes half of the memory until then.
//
//     matmul(a, packed_rounded(Bf16Matrix(kept, rows, columns)), c, columns);
//                                     // the bits of matmul(a, PackedMatrix::rounded(Matrix(x, rows, columns)), c, columns)
#pragma once

#include "qkv/kernel/matmul.h"

namespace qkv::kernel {

// `b` by rows: its column_stride is 1.
PackedMatrix packed_rounded(Bf16Matrix b);

}  // namespace qkv::kernel
