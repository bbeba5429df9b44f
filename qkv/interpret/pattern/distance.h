// A positional head: it attends at one distance from its own position, whatever the tokens are (Voita et al., "Analyzing
// Multi-Head Self-Attention", 2019). The distances -1, 0 and 1 have patterns of their own.
//
//     strength = max over d of mean over t of w[t, t+d]            d: not -1, 0, 1; t+d is a key for at least half of the queries
#pragma once

#include <algorithm>

#include "qkv/interpret/head_weights.h"
#include "qkv/interpret/mean_weight.h"

namespace qkv::pattern {

// The strongest distance and its strength.
struct Distance {
  int64_t distance = 0;
  double strength = 0;
};

inline std::optional<Distance> strongest_distance(const HeadWeights& head) {
  std::optional<Distance> best;
  const int64_t T = head.queries();
  for (int64_t d = -(T / 2); head.self && d <= T / 2; ++d) {
    if (d >= -1 && d <= 1) continue;
    MeanWeight mean;
    for (int64_t t = std::max<int64_t>(0, -d); t < T && t + d < T; ++t) mean.add(head.at(t, t + d));
    if (mean.value() && (!best || *mean.value() > best->strength)) best = {d, *mean.value()};
  }
  return best;
}

inline std::optional<double> distance(const HeadWeights& head) {
  const std::optional<Distance> best = strongest_distance(head);
  return best ? std::optional(best->strength) : std::nullopt;
}

}  // namespace qkv::pattern
