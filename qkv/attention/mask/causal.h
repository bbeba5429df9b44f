// Causal: a query looks at its own position and at earlier ones (Vaswani et al., 2017, section 3.2.3).
//
//     visible(i, j)  <=>  j <= i + offset        offset is S - T unless given: the last query sees the last key
//
//     Tensor y = attention(q, k, v, {.mask = causal()});
//
// With T > S and no offset given the first T - S queries see nothing, and their output is zero.
#pragma once

#include <optional>

#include "qkv/attention/mask/mask.h"

namespace qkv {

MaskPtr causal(std::optional<int64_t> offset = {});

}  // namespace qkv
