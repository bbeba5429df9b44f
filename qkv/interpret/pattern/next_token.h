// A head that attends to the token after, of models that see it (Clark et al., "What Does BERT Look At?", 2019).
//
//     strength = mean over t = 0 .. T-2 of w[t, t+1]
#pragma once

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

inline std::optional<double> next_token(const HeadWeights& head) {
  MeanWeight mean;
  for (int64_t t = 0; head.self && t + 1 < head.queries(); ++t) mean.add(head.at(t, t + 1));
  return mean.value();
}

}  // namespace qkv::pattern
