// Prefix: every query sees the first keys; causal() | prefix(n) is a prefix language model (Raffel et al., "T5",
// 2020, section 3.2.1).
//
//     visible(b, i, j)  <=>  j < lengths[b]            lengths (B)
//
//     Tensor y = attention(q, k, v, {.mask = causal() | prefix({4, 9})});
//
// The same mask as padding(), by the name for its use with | instead of &. Errors: those of padding().
#pragma once

#include "qkv/attention/mask/padding.h"

namespace qkv {

inline MaskPtr prefix(std::vector<int32_t> lengths) { return padding(std::move(lengths)); }

}  // namespace qkv
