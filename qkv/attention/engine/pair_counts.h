// The pairs of a query and a key in a call of attention(), without computing any: what explain() and profiles count.
//
//     const PairCounts n = count_pairs(call);
//     n.visible                                  // of computed; the rest is masked inside partially masked tiles
#pragma once

#include <cstdint>

#include "qkv/attention/engine/call.h"

namespace qkv::internal {

struct PairCounts {
  int64_t visible = 0, computed = 0;
  int64_t fully_masked = 0;          // queries
  int64_t visited = 0, partial = 0;  // tiles
};

PairCounts count_pairs(const AttentionCall& call);

// Floating-point operations of the visible pairs: a score and 2 E each. A backward has 2.5 times as many.
double visible_flops(const AttentionCall& call, const PairCounts& counts);

}  // namespace qkv::internal
