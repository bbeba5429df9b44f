// Element-wise arithmetic.
//
//     Variable y = add(x, multiply(a, b));          // same shapes
//     Variable u = add(x, 1.0f);                    // to every element
//     Variable z = scale(x, 0.5f);
//     Variable w = divide(x, width);                // width (1): one number for all elements
//     Variable v = scale(x, gain);                  // gain (1)
//     Variable s = sum(x);                          // shape (1)
//
// Errors: a and b of different shapes; a factor or divisor that is not of shape (1).
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable add(const Variable& a, const Variable& b);
Variable add(const Variable& x, float constant);
Variable multiply(const Variable& a, const Variable& b);
Variable scale(const Variable& x, float factor);
Variable scale(const Variable& x, const Variable& factor);
Variable divide(const Variable& x, const Variable& divisor);
Variable sum(const Variable& x);

}  // namespace qkv
