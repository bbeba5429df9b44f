// Conversion to another type: f32 to bf16 rounds to nearest, ties to even; bf16 to f32 is exact.
//
//     Variable y = convert(x, DType::bf16);
//
// y has the shape and the memory order of x; its gradient is converted to the type of x.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable convert(const Variable& x, DType dtype);
Tensor convert(const Tensor& x, DType dtype);

}  // namespace qkv
