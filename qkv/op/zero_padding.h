// Zeros after the end of every row of a padded batch:
//
//     y[b, t] = x[b, t] where t < lengths[b], else 0            x (B,T,C), lengths (B) i32
//
//     Variable y = zero_padding(x, lengths);
//
// Errors: lengths of another shape or type, or outside [0, T].
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

Variable zero_padding(const Variable& x, const Tensor& lengths);

// The lengths, checked: Error of `op` unless they are i32 of shape (B), each from 0 to T.
std::span<const int32_t> checked_lengths(const char* op, const Tensor& lengths, int64_t B, int64_t T);

}  // namespace qkv
