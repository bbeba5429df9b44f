// Dot products.
//
//     scaled_dot()   s_ij = q_i . k_j / sqrt(D)     Vaswani et al., "Attention Is All You Need", 2017, equation 1
//     dot(scale)     s_ij = scale * q_i . k_j       Luong et al., 2015 ("dot"): scale 1
//
//     Tensor y = attention(q, k, v);                            // scaled dot product
//     Tensor z = attention(q, k, v, {.score = dot(0.3f)});
//
// Errors: a scale that is not finite.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr scaled_dot();
ScorePtr dot(float scale = 1.0f);

}  // namespace qkv
