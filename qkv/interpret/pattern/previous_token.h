// A head that attends to the token before (Voita et al., "Analyzing Multi-Head Self-Attention", 2019; Clark et al., "What Does
// BERT Look At?", 2019). In causal models it is the first half of an induction head (induction.h).
//
//     strength = mean over t = 1 .. T-1 of w[t, t-1]
#pragma once

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

inline std::optional<double> previous_token(const HeadWeights& head) {
  MeanWeight mean;
  for (int64_t t = 1; head.self && t < head.queries(); ++t) mean.add(head.at(t, t - 1));
  return mean.value();
}

}  // namespace qkv::pattern
