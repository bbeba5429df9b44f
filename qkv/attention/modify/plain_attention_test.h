// The formula of attention with modified scores, in float64: the reference in tests of modifiers.
//
//     const Plain wanted =
//         plain_attention(n, doubles(q), doubles(k), doubles(v), doubles(dout), rule, causal_rule(n));
//     expect_close(out.value(), wanted.out, 2e-6, "out");
//
// `rule` computes the modified score of a pair from the raw one, -infinity to mask it. ds is the gradient of the
// modified scores, from which every gradient of a modifier is one sum.
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::test {

using ScoreRule = std::function<double(int64_t b, int64_t h, int64_t i, int64_t j, double s)>;
using PairRule = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

struct Plain {
  std::vector<double> out, s, ds;  // s: raw scores. s, ds: (B,H,T,S)
};

inline Plain plain_attention(const AttentionShape& n, const std::vector<double>& q, const std::vector<double>& k,
                             const std::vector<double>& v, const std::vector<double>& dout, const ScoreRule& rule,
                             const PairRule& sees) {
  const double scale = 1 / std::sqrt(static_cast<double>(n.D));
  Plain r;
  r.out.resize(static_cast<size_t>(n.B * n.H * n.T * n.E));
  r.s.resize(static_cast<size_t>(n.B * n.H * n.T * n.S));
  r.ds.resize(r.s.size());
  std::vector<double> p(static_cast<size_t>(n.S)), dp(p.size());
  for (int64_t row = 0; row < n.B * n.H * n.T; ++row) {
    const int64_t b = row / (n.H * n.T), h = row / n.T % n.H, i = row % n.T,
                  first = (b * n.G + h * n.G / n.H) * n.S;
    double maximum = -INFINITY, total = 0, delta = 0;
    for (int64_t j = 0; j < n.S; ++j) {
      double raw = 0;
      for (int64_t d = 0; d < n.D; ++d) raw += q[row * n.D + d] * k[(first + j) * n.D + d];
      r.s[row * n.S + j] = scale * raw;
      p[j] = sees(b, h, i, j) ? rule(b, h, i, j, scale * raw) : -INFINITY;
      maximum = std::max(maximum, p[j]);
    }
    if (maximum == -INFINITY) continue;
    for (int64_t j = 0; j < n.S; ++j) total += std::exp(p[j] - maximum);
    for (int64_t j = 0; j < n.S; ++j) {
      p[j] = std::exp(p[j] - maximum) / total;
      dp[j] = 0;
      for (int64_t e = 0; e < n.E; ++e) {
        r.out[row * n.E + e] += p[j] * v[(first + j) * n.E + e];
        if (!dout.empty()) dp[j] += dout[row * n.E + e] * v[(first + j) * n.E + e];
      }
      delta += p[j] * dp[j];
    }
    for (int64_t j = 0; j < n.S; ++j) r.ds[row * n.S + j] = p[j] * (dp[j] - delta);
  }
  return r;
}

inline const PairRule every_pair = [](int64_t, int64_t, int64_t, int64_t) { return true; };
inline PairRule causal_rule(const AttentionShape& n) {
  return [&n](int64_t, int64_t, int64_t i, int64_t j) { return j <= n.position(i); };
}

// Shapes with partial blocks of queries and of keys, with more queries than keys (some see no key under a causal
// mask) and with fewer.
inline std::vector<AttentionShape> modifier_shapes() {
  return {{.B = 2, .H = 2, .G = 1, .T = 70, .S = 140, .D = 4, .E = 3},
          {.B = 1, .H = 4, .G = 2, .T = 150, .S = 67, .D = 5, .E = 4},
          {.B = 1, .H = 3, .G = 3, .T = 1, .S = 300, .D = 3, .E = 2}};
}

// One call with a modifier on random numbers, and the results of the formula.
struct Modified {
  AttentionShape n;
  Variable q, k, v, out;
  Tensor upstream;
  Plain wanted;

  Modified(const AttentionShape& shape, const ModifierPtr& modifier, const ScoreRule& rule, bool is_causal,
           uint64_t stream, double spread = 1.0)
      : n(shape),
        q(random({n.B, n.H, n.T, n.D}, stream, spread), {.requires_grad = true}),
        k(random({n.B, n.G, n.S, n.D}, stream + 1), {.requires_grad = true}),
        v(random({n.B, n.G, n.S, n.E}, stream + 2), {.requires_grad = true}),
        upstream(random({n.B, n.H, n.T, n.E}, stream + 3)) {
    out = attention(q, k, v, {.modify = {modifier}, .mask = is_causal ? causal() : MaskPtr()});
    out.backward(upstream);
    wanted = plain_attention(n, doubles(q.value()), doubles(k.value()), doubles(v.value()), doubles(upstream), rule,
                             is_causal ? causal_rule(n) : every_pair);
    expect_close(out.value(), wanted.out, 3e-6, "out");
  }

  // The gradient of `size` numbers: the sum over all pairs of ds_ij * slope(i, j), into number `index`.
  std::vector<double> gradient(int64_t size,
                               const std::function<int64_t(int64_t, int64_t, int64_t, int64_t)>& index,
                               const std::function<double(int64_t i, int64_t j)>& slope) const {
    std::vector<double> g(static_cast<size_t>(size));
    for (int64_t at = 0; at < n.B * n.H * n.T * n.S; ++at) {
      const int64_t j = at % n.S, i = at / n.S % n.T, h = at / (n.S * n.T) % n.H, b = at / (n.S * n.T * n.H);
      g[index(b, h, i, j)] += wanted.ds[at] * slope(i, j);
    }
    return g;
  }
};

}  // namespace qkv::test
