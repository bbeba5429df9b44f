// Softcap: a smooth bound on the scores, so that none runs away in training (Gemma Team, "Gemma 2: Improving Open
// Language Models at a Practical Size", 2024, section 2).
//
//     s_ij <- cap * tanh(s_ij / cap)
//
//     Tensor y = attention(q, k, v, {.modify = {softcap(50)}});
//
// Scores far below the cap hardly change. A score of -infinity, which a bias before may have written to hide a
// pair, stays what it is. Errors: a cap that is not a positive number.
#pragma once

#include "qkv/attention/modify/modifier.h"

namespace qkv {

ModifierPtr softcap(float cap);

}  // namespace qkv
