// Maxout (Goodfellow et al., "Maxout Networks", 2013): the largest of each group of `pieces` adjacent numbers.
//
//     y_j = max(x_(p j), ..., x_(p j + p - 1))         x (..., p n), y (..., n)
//
//     Variable t = maxout(linear(x, w, b), 2);
//
// The gradient goes to the first of equal numbers. Errors: a width that is not a multiple of `pieces`.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable maxout(const Variable& x, int64_t pieces = 2);

}  // namespace qkv
