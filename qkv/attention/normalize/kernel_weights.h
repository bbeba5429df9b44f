// Kernel weights: attention as Nadaraya-Watson kernel regression (Nadaraya, "On Estimating Regression", 1964;
// Watson, "Smooth Regression Analysis", 1964; Zhang et al., "Dive into Deep Learning", section 11.2). For a
// distance score (score/distance.h), s_ij = -u_ij^2 / 2 with u_ij = |q_i - k_j| / sigma, the weights are
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
// A query whose sum is zero, because all keys are too far, has zero weights, a zero output and no gradient, like
// one without visible keys. lse is the logarithm of the sum. A positive score counts as distance 0. The gradient is
// zero at the edge of a kernel, at u = 0 of the triangular one, and everywhere for boxcar and constant.
#pragma once

#include "qkv/attention/normalize/normalizer.h"

namespace qkv {

NormalizerPtr boxcar();
NormalizerPtr epanechnikov();
NormalizerPtr triangular();
NormalizerPtr constant();

}  // namespace qkv
