// Bias: any numbers, added to the scores.
//
//     s_ij <- s_ij + bias[b, h, i, j]          bias (B, H, T, S), f32, any strides; any axis may have length 1
//
//     Variable y = attention(q, k, v, {.modify = {bias(numbers)}});
//
// A bias of -infinity masks the pair. (A mask is cheaper: it can skip whole tiles.) The gradient has the shape of
// the bias, summed over its axes of length 1; it is zero for masked pairs.
//
// Errors: an axis that is neither 1 nor as in the call.
#pragma once

#include "qkv/attention/modify/modifier.h"

namespace qkv {

ModifierPtr bias(const Variable& numbers);

}  // namespace qkv
