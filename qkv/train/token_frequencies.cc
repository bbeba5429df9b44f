#include "qkv/train/token_frequencies.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace qkv {

void TokenFrequencies::add(std::span<const int32_t> ids) {
  for (const int32_t id : ids) ++counts_[static_cast<size_t>(id)];
}

void TokenFrequencies::add(int32_t id, int64_t count) { counts_[static_cast<size_t>(id)] += count; }

double TokenFrequencies::entropy() const {
  const auto total = static_cast<double>(std::accumulate(counts_.begin(), counts_.end(), int64_t{0}));
  double sum = 0;
  for (const int64_t count : counts_)
    if (count > 0) sum -= static_cast<double>(count) / total * std::log(static_cast<double>(count) / total);
  return sum;
}

int32_t TokenFrequencies::frequent_token() const {
  return static_cast<int32_t>(std::max_element(counts_.begin(), counts_.end()) - counts_.begin());
}

}  // namespace qkv
