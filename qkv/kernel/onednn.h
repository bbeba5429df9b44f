// What the library takes from oneDNN: products whose factors are not packed, on the calling thread alone. The only
// file that sees oneDNN's headers is onednn.cc; 2.6 and 3.x both do.
#pragma once

#include "qkv/kernel/matmul.h"

namespace qkv::kernel::onednn {

// c (+)= a b, both in any orientation. Runs serially, inside a parallel region and outside, so that its bits do not
// depend on the number of threads. QKV_ISA binds it too.
void multiply(Matrix a, Matrix b, float* c, int64_t c_row_stride, bool accumulate);

}  // namespace qkv::kernel::onednn
