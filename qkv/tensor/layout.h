// Memory order: making a tensor whose axes lie in memory in the same order as those of another.
#pragma once

#include "qkv/tensor/tensor.h"

namespace qkv {

// A tensor of the given shape, contiguous but for the order of its axes, which is that of `like`: for a (B,H,T,D)
// view of (B,T,H,D) memory the result is such a view too, and joining its heads again costs nothing.
Tensor empty_in_order_of(const Tensor& like, const Shape& shape, DType dtype = DType::f32);

}  // namespace qkv
