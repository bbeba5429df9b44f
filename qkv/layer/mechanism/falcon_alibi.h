// ALiBi as in Falcon, with the slopes of alibi_slopes() and the scale 1 / sqrt(D) of the scores
// (attention/modify/falcon_alibi.h). For causal models only: there the farthest key has the lowest bias.
//
//     AttentionVariant variant = FalconAlibi{};                                                // "falcon-alibi"
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct FalconAlibi {
  bool operator==(const FalconAlibi&) const = default;
};

AttentionMechanismPtr mechanism_of(const FalconAlibi&);

}  // namespace qkv
