// Around a position: every query looks at the keys near a place of its own, which need not be a whole number
// (Luong, Pham and Manning, "Effective Approaches to Attention-based Neural Machine Translation", 2015,
// section 3.2, where the place is predicted; attention/local.h makes that of it).
//
//     visible(b, h, i, j)  <=>  |j - centre[b, h, i]| <= radius        centres (B, H, T), or (B, T) for all heads
//
//     Tensor y = attention(q, k, v, {.mask = around(centres, 2)});
//
// Bounds are inclusive; no gradient flows to the centres. A query whose centre is far outside the keys sees none.
// Errors: centres of another shape or type, or not finite; a negative radius.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr around(const Tensor& centres, double radius);

}  // namespace qkv
