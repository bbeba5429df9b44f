// Which keys a query sees, as a function: what a mask is compared with.
//
//     const VisibleRule rule = causal_rule(n);
//     rule(/*b=*/0, /*h=*/0, /*i=*/3, /*j=*/2);  // whether query i sees key j
#pragma once

#include <functional>

#include "qkv/attention/mask/mask.h"

namespace qkv::test {

using VisibleRule = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

inline VisibleRule causal_rule(const AttentionShape& n) {
  return [n](int64_t, int64_t, int64_t i, int64_t j) { return j <= n.position(i); };
}

// The pairs that a mask shows in its fill(). Every pair if there is no mask.
VisibleRule visible_by(const MaskPtr& mask, const AttentionShape& shape);

}  // namespace qkv::test
