// ALiBi as in Falcon: a bias by the position of the key, rounded to bf16 three times, and divided like the scores
// (Almazrouei et al., "The Falcon Series of Open Language Models", 2023; the rounding is that of the published code).
//
//     s_ij <- s_ij + bf16( bf16(slope_h) bf16(j) ) / sqrt(D)                      slopes as in attention/modify/alibi.h
//
//     AttentionVariant variant = FalconAlibi{};                                                // "falcon-alibi"
//
// Without the rounding it would be Alibi with slopes divided by sqrt(D), because the softmax ignores a term that all
// keys of a query share. For causal models only: there the farthest key has the lowest bias.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct FalconAlibi {
  bool operator==(const FalconAlibi&) const = default;
};

AttentionMechanismPtr mechanism_of(const FalconAlibi&);

}  // namespace qkv
