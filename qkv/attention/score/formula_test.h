// The formula of attention with any score, in float64: the reference in tests of scores.
//
//     attention_by([](const double* q, const double* k, int64_t) { return q[0] * k[0]; }, n, q, k, v)
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::test {

struct Sizes {
  int64_t B, H, G, T, S, Dq, Dk, E;
  bool is_causal = false;

  std::vector<Tensor> inputs() const {
    return {random({B, H, T, Dq}, 1), random({B, G, S, Dk}, 2), random({B, G, S, E}, 3)};
  }
  MaskPtr mask() const { return is_causal ? causal() : MaskPtr(); }
};

// One pair; partial blocks; more queries than keys (if causal, some see no key); several tiles.
inline std::vector<Sizes> score_sizes(int64_t Dq, int64_t Dk) {
  return {{1, 1, 1, 1, 1, Dq, Dk, 1},
          {2, 2, 1, 3, 4, Dq, Dk, 2},
          {1, 4, 2, 5, 4, Dq, Dk, 3, true},
          {1, 2, 1, 6, 140, Dq, Dk, 2, true}};
}

// The score of a query and key j; -infinity masks the pair.
using PairScore = std::function<double(const double* q, const double* k, int64_t j)>;

inline std::vector<double> attention_by(const PairScore& score, const Sizes& n, const std::vector<double>& q,
                                        const std::vector<double>& k, const std::vector<double>& v) {
  std::vector<double> out(static_cast<size_t>(n.B * n.H * n.T * n.E)), p(static_cast<size_t>(n.S));
  for (int64_t row = 0; row < n.B * n.H * n.T; ++row) {
    const int64_t b = row / (n.H * n.T), first = (b * n.G + row / n.T % n.H * n.G / n.H) * n.S;
    const int64_t visible = n.is_causal ? row % n.T + n.S - n.T + 1 : n.S;
    double maximum = -INFINITY, total = 0;
    for (int64_t j = 0; j < visible; ++j)
      maximum = std::max(maximum, p[j] = score(&q[row * n.Dq], &k[(first + j) * n.Dk], j));
    if (maximum == -INFINITY) continue;
    for (int64_t j = 0; j < visible; ++j) total += p[j] = std::exp(p[j] - maximum);
    for (int64_t j = 0; j < visible; ++j)
      for (int64_t e = 0; e < n.E; ++e) out[row * n.E + e] += p[j] / total * v[(first + j) * n.E + e];
  }
  return out;
}

}  // namespace qkv::test
