// A linear map of the last axis: y = x W^T + b.
//
//     Variable y = linear(x, w, b);       // x (..., K), w (N, K), b (N) or none; y (..., N)
//
// The weight is packed once for each of its values and used again until an optimizer writes it.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable linear(const Variable& x, const Variable& w, const Variable& b = {});

}  // namespace qkv
