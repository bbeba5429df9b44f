// An attention sink: the first token takes the weight of queries that need nothing (Xiao et al., "Efficient Streaming Language
// Models with Attention Sinks", 2024).
//
//     strength = mean over t = 1 .. T-1 of w[t, 0]                     cross-attention: from t = 0
#pragma once

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

inline std::optional<double> first_token(const HeadWeights& head) {
  MeanWeight mean;
  for (int64_t t = head.self ? 1 : 0; t < head.queries(); ++t) mean.add(head.at(t, 0));
  return mean.value();
}

}  // namespace qkv::pattern
