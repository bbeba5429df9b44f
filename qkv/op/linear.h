// Linear layer on the last axis: y = x W^T + b.
//
//     Variable y = linear(x, w, b);       // x (..., K), w (N, K), b (N), optional; y (..., N)
//
// A weight that is used again and again is kept as a Weight, which caches its packed form; one that is given as a
// Variable is packed in every call. Errors: a K that differs or is 0, a bias that is not (N).
#pragma once

#include "qkv/op/weight.h"

namespace qkv {

Variable linear(const Variable& x, const Weight& w, const Variable& b = {});

}  // namespace qkv
