// Softmax of the last axis, and masked softmax over the first lengths[...] entries of each row (Zhang et al., "Dive
// into Deep Learning", section 11.3.1).
//
//     Variable w = softmax(x);                         // x (..., S)
//     Variable w = masked_softmax(x, lengths);         // x (B,T,S), lengths (B) or (B,T), i32
//
// Masked entries, rows of length 0 and entries of minus infinity give zero. Errors: lengths of another shape or
// type, or outside [0, S].
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable softmax(const Variable& x);
Variable masked_softmax(const Variable& x, const Tensor& lengths);

}  // namespace qkv
