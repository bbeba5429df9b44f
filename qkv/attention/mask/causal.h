// Causal: a query attends to its own position and to earlier ones (Vaswani et al., 2017, section 3.2.3).
//
//     visible(i, j)  <=>  j <= i + offset        offset: S - T by default, the last query sees the last key
//
//     Tensor y = attention(q, k, v, {.mask = causal()});
//
// With T > S and the default offset the first T - S queries see no key, and their output is zero.
#pragma once

#include <optional>

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr causal(std::optional<int64_t> offset = {});

}  // namespace qkv
