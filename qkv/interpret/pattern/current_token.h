// A head that attends to the token at its own position: it adds little to what the residual connection passes on.
//
//     strength = mean over t of w[t, t]
#pragma once

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

inline std::optional<double> current_token(const HeadWeights& head) {
  MeanWeight mean;
  for (int64_t t = 0; head.self && t < head.queries(); ++t) mean.add(head.at(t, t));
  return mean.value();
}

}  // namespace qkv::pattern
