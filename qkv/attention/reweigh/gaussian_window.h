// Gaussian window: weights decay with the distance of the key from a position p_i (Luong, Pham and Manning,
// "Effective Approaches to Attention-based Neural Machine Translation", 2015, equation 10).
//
//     w_ij <- w_ij exp(-(j - p_i)^2 / (2 sigma^2))          p (B, H, T), may require a gradient
//
//     Variable y = attention(q, k, v, {.reweigh = {gaussian_window(p, 1.5)}});
//
// The weights are not normalized again. Errors: a p of another shape, a sigma that is not positive.
#pragma once

#include "qkv/attention/reweigh/reweigher.h"

namespace qkv {

ReweigherPtr gaussian_window(const Variable& p, double sigma);

}  // namespace qkv
