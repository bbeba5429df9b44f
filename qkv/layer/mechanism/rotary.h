// Rotary position embedding, RoPE: the heads of queries and keys are rotated by their positions (Su et al., 2021;
// op/rotary.h).
//
//     AttentionVariant variant = Rotary{.base = 5e5};                                      // "rotary=500000"
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct Rotary {  // "rotary[=base]"
  double base = 10000;
  bool operator==(const Rotary&) const = default;
};

AttentionMechanismPtr mechanism_of(const Rotary&);

}  // namespace qkv
