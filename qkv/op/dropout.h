// Dropout (Srivastava et al., 2014): y = x / (1 - rate) with probability 1 - rate, else 0.
//
//     Variable y = dropout(x, {.rate = 0.1, .seed = seed, .stream = stream});
//     Variable z = dropout_add(x, residual, ...);      // residual + dropout(x) in one pass
//
// Whether an element is kept is a function of (seed, stream, its index): no mask is stored for the backward. A rate
// of 0 is the identity. With a part, x (B,rows,...) has these rows of longer sequences, and the index is that of the element in
// the whole: what is dropped does not depend on how a sequence is divided.
// Errors: a rate outside [0, 1); x and residual of different shapes.
#pragma once

#include "qkv/autograd/variable.h"
#include "qkv/tensor/sequence_layout.h"

namespace qkv {

struct Dropout {
  float rate = 0.0f;  // [0, 1)
  uint64_t seed = 0, stream = 0;
  ZigzagPart part = {};
};

Variable dropout(const Variable& x, const Dropout& options);
Variable dropout_add(const Variable& x, const Variable& residual, const Dropout& options);

}  // namespace qkv
