// Scores by distance: the nearer a key, the higher its score. With the softmax they make a Gaussian kernel of the
// distance, so attention is Nadaraya-Watson regression (Nadaraya, "On Estimating Regression", 1964; Watson, "Smooth
// Regression Analysis", 1964; Zhang et al., "Dive into Deep Learning", section 11.2). For other kernels see
// normalize/kernel_weights.h.
//
//     distance()        s_ij = -|q_i - k_j|^2 / 2
//     gaussian(sigma)   s_ij = -|q_i - k_j|^2 / (2 sigma^2)       sigma (1), learnt if it asks
//
//     Tensor y = attention(q, k, v, {.score = gaussian(0.5f)});
//
// Differences are squared, not |q|^2 - 2 q.k + |k|^2, which loses the digits of near points far from the origin.
// Errors: a sigma that is not one positive number.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr distance();
ScorePtr gaussian(const Variable& sigma);
ScorePtr gaussian(float sigma);

}  // namespace qkv
