// Kernel weights: Nadaraya-Watson regression (Nadaraya, "On Estimating Regression", 1964; Watson, "Smooth
// Regression Analysis", 1964; Zhang et al., "Dive into Deep Learning", section 11.2) in the sentence of attention.
// A score by distance (score/distance.h) is s_ij = -u_ij^2 / 2 with u_ij = |q_i - k_j| / sigma, and a query weighs
// its visible keys by
//
//     w_ij = K(u_ij) / sum_j K(u_ij)
//
//     boxcar()         K(u) = 1 for u < 1, else 0
//     epanechnikov()   K(u) = max(0, 1 - u^2)          Epanechnikov, 1969; its factor 3/4 cancels
//     triangular()     K(u) = max(0, 1 - u)
//     constant()       K(u) = 1
//     softmax()        K(u) = exp(-u^2 / 2), the Gaussian kernel
//
//     Tensor y = attention(q, k, v, {.score = gaussian(0.5f), .normalize = epanechnikov()});
//
// A query whose total is zero, all of its keys being too far, has zero weights, a zero output and no gradient, like
// one that sees no key. lse is the logarithm of the total. A positive score counts as a distance of 0. The gradient
// at an edge of a kernel, and of the triangular one at u = 0, is zero; that of boxcar and constant is zero
// anywhere.
#pragma once

#include "qkv/attention/normalize/normalizer.h"

namespace qkv {

NormalizerPtr boxcar();
NormalizerPtr epanechnikov();
NormalizerPtr triangular();
NormalizerPtr constant();

}  // namespace qkv
