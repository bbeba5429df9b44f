// ALiBi: a penalty proportional to the distance between query and key, with a slope per head (Press, Smith and
// Lewis, "Train Short, Test Long: Attention with Linear Biases Enables Input Length Extrapolation", 2022).
//
//     s_ij <- s_ij - slope_h |p_i - j|          p_i = i + S - T
//
//     Tensor y = attention(q, k, v, {.modify = {alibi(alibi_slopes(8))}});    // 1/2, 1/4, ..., 1/256
//     Variable z = attention(q, k, v, {.modify = {alibi(slopes)}});           // slopes (H), may require a gradient
//
// alibi_slopes(H): 2^(-8 (h + 1) / H) if H is a power of two; else the slopes of the largest power of two n below
// H, then the first, third, ... of 2n.
//
// Errors: slopes that are not one number per query head.
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/attention/modify/modifier.h"

namespace qkv {

std::vector<float> alibi_slopes(int64_t heads);

ModifierPtr alibi(const Variable& slopes);
ModifierPtr alibi(const std::vector<float>& slopes);

}  // namespace qkv
