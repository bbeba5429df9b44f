// Scores become cap tanh(score / cap) (Gemma 2, 2024; attention/modify/softcap.h).
//
//     AttentionVariant variant = SlidingWindow{64} + Softcap{30};                          // "window=64+softcap=30"
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct Softcap {  // "softcap[=cap]"
  double cap = 50;
  bool operator==(const Softcap&) const = default;
};

AttentionMechanismPtr mechanism_of(const Softcap&);

}  // namespace qkv
