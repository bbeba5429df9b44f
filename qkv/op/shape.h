// Changes of shape. They copy only if the memory order requires it.
//
//     Variable heads = transpose(reshape(x, {B, T, H, D}), 1, 2);     // (B,H,T,D), a view
//
// Errors: a shape, axis or range that does not fit, a width that is not a multiple of the number of heads.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable reshape(Variable x, const Shape& shape);
Variable transpose(Variable x, int a, int b);
Variable slice(const Variable& x, int axis, int64_t begin, int64_t end);

// (B, T, heads * D) -> (B, heads, T, D) and back, for multi-head attention. Views, if the memory order allows.
Variable split_heads(Variable x, int64_t heads);
Variable join_heads(Variable x);

}  // namespace qkv
