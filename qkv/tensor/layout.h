// Memory layout: tensors whose axes have the same order in memory as those of another tensor.
#pragma once

#include "qkv/tensor/tensor.h"

namespace qkv {

// A tensor of the given shape without gaps, whose axes are ordered in memory as those of `like`: for a (B,H,T,D)
// view of (B,T,H,D) memory the result is such a view too, so joining its heads copies nothing.
Tensor empty_in_order_of(const Tensor& like, const Shape& shape, DType dtype = DType::f32);

}  // namespace qkv
