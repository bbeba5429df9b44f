// An induction head (Olsson et al., "In-context Learning and Induction Heads", 2022): it attends to what followed the last copy of
// the token, and so continues "A B ... A" with B. Measure it on random tokens that are read twice (repeated_tokens.h), where
// nothing but the copy tells what follows.
//
//     strength = mean over t that have copies of w[t, s+1]         s: the last one before t with token s = token t
#pragma once

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

inline std::optional<double> induction(const HeadWeights& head) {
  MeanWeight mean;
  for (int64_t t = 1; head.self && t < head.queries(); ++t)
    for (int64_t s = t - 1; s >= 0; --s)
      if (head.keys[static_cast<size_t>(s)] == head.keys[static_cast<size_t>(t)]) {
        mean.add(head.at(t, s + 1));
        break;
      }
  return mean.value();
}

}  // namespace qkv::pattern
