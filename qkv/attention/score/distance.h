// Distance scores: nearer keys have higher scores. With the softmax they are a Gaussian kernel of the distance, and
// attention is Nadaraya-Watson kernel regression (Nadaraya, "On Estimating Regression", 1964; Watson, "Smooth
// Regression Analysis", 1964; Zhang et al., "Dive into Deep Learning", section 11.2). Other kernels:
// normalize/kernel_weights.h.
//
//     distance()        s_ij = -|q_i - k_j|^2 / 2
//     gaussian(sigma)   s_ij = -|q_i - k_j|^2 / (2 sigma^2)       sigma (1), may require a gradient
//
//     Tensor y = attention(q, k, v, {.score = gaussian(0.5f)});
//
// Differences are squared; |q|^2 - 2 q.k + |k|^2 would cancel for near points far from the origin.
// Errors: a sigma that is not one positive number.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr distance();
ScorePtr gaussian(const Variable& sigma);
ScorePtr gaussian(float sigma);

}  // namespace qkv
