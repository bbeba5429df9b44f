// Scaled dot product and softmax over all keys (Vaswani et al., 2017): the variant without mechanisms, for patterns.
//
//     AttentionPattern pattern = {{Full{}, 1}, {SlidingWindow{64}, 3}};
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct Full {
  bool operator==(const Full&) const = default;
};

AttentionMechanismPtr mechanism_of(const Full&);

}  // namespace qkv
