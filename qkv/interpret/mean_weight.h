// A mean over queries, of those that there are.
//
//     MeanWeight mean;
//     for (int64_t t = 1; t < head.queries(); ++t) mean.add(head.at(t, t - 1));
//     return mean.value();                                                  // none without queries
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace qkv {

class MeanWeight {
 public:
  void add(double weight) {
    if (std::isnan(weight)) return;  // HeadWeights::no_query
    sum_ += weight;
    ++count_;
  }
  std::optional<double> value() const {
    if (count_ == 0) return {};
    return sum_ / static_cast<double>(count_);
  }

 private:
  double sum_ = 0;
  int64_t count_ = 0;
};

}  // namespace qkv
