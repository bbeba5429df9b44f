// Batched matrix product: out[n] = a[n] b[n].
//
//     Variable c = batch_matmul(a, b);       // a (N,R,K), b (N,K,C), c (N,R,C)
//
// Errors: shapes that do not agree in N and K.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable batch_matmul(const Variable& a, const Variable& b);

}  // namespace qkv
