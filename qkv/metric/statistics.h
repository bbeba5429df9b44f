// The numbers that the score of a corpus is computed from: a row per sentence, summed over the sentences.
#pragma once

#include <vector>

namespace qkv::metric {

using Statistics = std::vector<std::vector<double>>;

inline std::vector<double> sum(const Statistics& rows) {
  std::vector<double> sums(rows.empty() ? 0 : rows.front().size());
  for (const std::vector<double>& row : rows)
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += row[i];
  return sums;
}

}  // namespace qkv::metric
