// Softcap: a smooth bound on the scores, which keeps them from growing in training (Gemma Team, "Gemma 2: Improving
// Open Language Models at a Practical Size", 2024, section 2).
//
//     s_ij <- cap * tanh(s_ij / cap)
//
//     Tensor y = attention(q, k, v, {.modify = {softcap(50)}});
//
// A score of -infinity (masked by a bias) stays -infinity. Errors: a cap that is not positive and finite.
#pragma once

#include "qkv/attention/modify/modifier.h"

namespace qkv {

ModifierPtr softcap(float cap);

}  // namespace qkv
