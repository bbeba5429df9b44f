// Linear layer on the last axis: y = x W^T + b.
//
//     Variable y = linear(x, w, b);       // x (..., K), w (N, K), b (N), optional; y (..., N)
//
// The packed form of the weight is cached until the weight changes (Variable::version()).
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable linear(const Variable& x, const Variable& w, const Variable& b = {});

}  // namespace qkv
