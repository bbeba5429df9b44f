// One attention head as the patterns read it (head_patterns.h).
//
//     const HeadWeights head = {.weights = layer.select(0, 5).span<float>(), .keys = maps.columns, .self = true};
//     head.at(2, 1)                                                                 // of query 2 on key 1
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace qkv {

struct HeadWeights {
  // The weights of a query that is none, such as one that sees no key: it is in no mean.
  static constexpr float no_query = std::numeric_limits<float>::quiet_NaN();

  std::span<const float> weights;     // (T,S)
  std::span<const std::string> keys;  // S tokens
  bool self = false;                  // query t is at the position of key t

  double at(int64_t query, int64_t key) const {
    return weights[static_cast<size_t>(query) * keys.size() + static_cast<size_t>(key)];
  }
  int64_t queries() const { return static_cast<int64_t>(weights.size() / keys.size()); }
};

}  // namespace qkv
