// A window around given centers, which need not be integers (Luong, Pham and Manning, "Effective Approaches to
// Attention-based Neural Machine Translation", 2015, section 3.2, where they are predicted: attention/local.h).
//
//     visible(b, h, i, j)  <=>  |j - center[b, h, i]| <= radius        centers (B, H, T), or (B, T) for all heads
//
//     Tensor y = attention(q, k, v, {.mask = around(centers, 2)});
//
// No gradient flows to the centers. A query whose window holds no key sees none.
// Errors: centers of another shape or type, or not finite; a negative radius.
#pragma once

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

MaskPtr around(const Tensor& centers, double radius);

}  // namespace qkv
