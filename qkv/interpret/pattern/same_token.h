// A head that attends to earlier copies of the token.
//
//     strength = mean over t that have copies of the sum over s < t, token s = token t, of w[t, s]            none: no token twice
#pragma once

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

inline std::optional<double> same_token(const HeadWeights& head) {
  MeanWeight mean;
  for (int64_t t = 1; head.self && t < head.queries(); ++t) {
    double weight = 0;
    bool found = false;
    for (int64_t s = 0; s < t; ++s)
      if (head.keys[static_cast<size_t>(s)] == head.keys[static_cast<size_t>(t)]) {
        weight += head.at(t, s);
        found = true;
      }
    if (found) mean.add(weight);
  }
  return mean.value();
}

}  // namespace qkv::pattern
