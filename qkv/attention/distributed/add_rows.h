// sum += x; both (B,heads,rows,width) f32 with contiguous rows.
#pragma once

#include "qkv/tensor/tensor.h"

namespace qkv::internal {

void add_rows(const Tensor& sum, const Tensor& x);

}  // namespace qkv::internal
