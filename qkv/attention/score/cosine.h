// Cosine score (Graves, Wayne and Danihelka, "Neural Turing Machines", 2014, section 3.3.1). The scale is the
// sharpness (beta there).
//
//     s_ij = scale * gain * q_i . k_j / (|q_i| |k_j|)        no epsilon: a zero query or key has score 0
//
//     Tensor y = attention(q, k, v, {.score = cosine(10.0f)});
//     Variable z = attention(q, k, v, {.score = cosine(10.0f, gain)});        // gain (1), may require a gradient
//
// Queries and keys are divided by their norms once; the rest is a dot product. Errors: a scale that is not finite,
// a gain that is not one number.
#pragma once

#include "qkv/attention/score/score.h"

namespace qkv {

ScorePtr cosine(float scale = 1.0f, const Variable& gain = {});

}  // namespace qkv
