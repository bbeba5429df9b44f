// A head of cross-attention that goes through the keys as the queries go on, as translations without reordering do.
//
//     strength = mean over t of w[t, s(t)]        s(t) = round(t (S-1) / (T-1)): the key on the diagonal
#pragma once

#include <iterator>

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

inline std::optional<double> diagonal(const HeadWeights& head) {
  MeanWeight mean;
  const int64_t T = head.queries(), S = std::ssize(head.keys);
  for (int64_t t = 0; !head.self && T > 1 && t < T; ++t)
    mean.add(head.at(t, (2 * t * (S - 1) + T - 1) / (2 * (T - 1))));
  return mean.value();
}

}  // namespace qkv::pattern
