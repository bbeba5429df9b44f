// Gaussian window: weights fade with the distance of the key from a position of the query's own (Luong, Pham and
// Manning, "Effective Approaches to Attention-based Neural Machine Translation", 2015, equation 10).
//
//     w_ij <- w_ij exp(-(j - p_i)^2 / (2 sigma^2))          p (B, H, T), learnt if it asks
//
//     Variable y = attention(q, k, v, {.reweigh = {gaussian_window(p, 1.5)}});
//
// The weights are not normalized again. Errors: a p of another shape, a sigma that is not positive.
#pragma once

#include "qkv/attention/reweigh/reweigher.h"

namespace qkv {

ReweigherPtr gaussian_window(const Variable& p, double sigma);

}  // namespace qkv
