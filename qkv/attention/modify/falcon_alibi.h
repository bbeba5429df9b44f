// ALiBi as in Falcon: a bias by the position of the key, rounded to bf16 three times, and scaled as the scores are
// (Almazrouei et al., "The Falcon Series of Open Language Models", 2023; rounded as in the published code).
//
//     s_ij <- s_ij + scale bf16( bf16(slope_h) bf16(j) )          slopes (H), as in alibi.h; scale: 1 / sqrt(D)
//
//     Tensor y = attention(q, k, v, {.modify = {falcon_alibi(alibi_slopes(8), 0.125f)}, .mask = causal()});   // D = 64
//
// Without the rounding it would be alibi() with slopes multiplied by the scale, because the softmax ignores a
// term that all keys of a query share. For causal attention only: there the farthest key has the lowest bias.
//
// Errors: slopes that are not one number per query head; a scale that is not finite.
#pragma once

#include <vector>

#include "qkv/attention/modify/modifier.h"

namespace qkv {

ModifierPtr falcon_alibi(std::vector<float> slopes, float scale);

}  // namespace qkv
