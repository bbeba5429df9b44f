// Softmax of the last axis, and the same with only the first so many entries of a row taking part (masked softmax
// with valid lengths: Zhang et al., "Dive into Deep Learning", section 11.3.1).
//
//     Variable w = softmax(x);                         // x (..., S)
//     Variable w = masked_softmax(x, lengths);         // x (B,T,S), lengths (B) or (B,T), i32
//
// Entries that do not take part, and rows of length 0, are zero. Entries of minus infinity weigh zero.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable softmax(const Variable& x);
Variable masked_softmax(const Variable& x, const Tensor& lengths);

}  // namespace qkv
