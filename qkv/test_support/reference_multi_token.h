// Multi-token attention by its formula, in float64 with (T, S) matrices.
//
//     ReferenceMultiToken reference = {.B = 1, .H = 2, .G = 2, .T = 7, .S = 9, .D = 3, .E = 5};
//     reference.pre_queries = 3, reference.pre_keys = 5;
//     check_op("causal", reference.inputs(/*stream=*/1), reference.op(causal()), reference);
#pragma once

#include <cmath>
#include <functional>
#include <vector>

#include "qkv/attention/multi_token.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::test {

struct ReferenceMultiToken {
  int64_t B = 1, H = 1, G = 1, T = 1, S = 1, D = 1, E = 1;
  int64_t pre_queries = 0, pre_keys = 0, post_queries = 0, post_keys = 0;  // 0: no such convolution
  bool pre_mix = false, post_mix = false;
  int64_t post_head = 0;  // heads of a group, 0: none
  PadKey pad_key = PadKey::both;
  std::function<bool(int64_t b, int64_t i, int64_t j)> sees = {};  // empty: no mask
  WeightDropout dropout = {};
  std::vector<double> factors = {};  // of the weights by dropout, (B,H,T,S); empty: 1

  // Random inputs, in the order of operator() below.
  std::vector<Tensor> inputs(uint64_t stream) const {
    std::vector<Tensor> x = {random_tensor({B, H, T, D}, stream), random_tensor({B, G, S, D}, stream + 1),
                             random_tensor({B, G, S, E}, stream + 2)};
    if (pre_queries) x.push_back(random_tensor({H, 1, pre_queries, pre_keys}, stream + 3, 0.5));
    if (pre_mix) x.push_back(random_tensor({H, H}, stream + 4, 0.5));
    if (post_queries) x.push_back(random_tensor({H, 1, post_queries, post_keys}, stream + 5, 0.5));
    if (post_mix) x.push_back(random_tensor({H, H}, stream + 6, 0.5));
    if (post_head) x.push_back(random_tensor({H / post_head, post_head, post_head}, stream + 7, 0.5));
    return x;
  }

  template <class X>
  MultiTokenOptions options(const X& x, const MaskPtr& mask) const {
    MultiTokenOptions o = {.pad_key = pad_key, .mask = mask, .dropout = dropout};
    size_t at = 3;
    if (pre_queries) o.pre_conv = x[at++];
    if (pre_mix) o.pre_mix = x[at++];
    if (post_queries) o.post_conv = x[at++];
    if (post_mix) o.post_mix = x[at++];
    if (post_head) o.post_head = x[at++];
    return o;
  }

  Op op(const MaskPtr& mask) const {
    return [*this, mask](const Variables& x) { return multi_token_attention(x[0], x[1], x[2], options(x, mask)); };
  }

  // out; `weights`, if given, receives P.
  std::vector<double> operator()(const Doubles& x, std::vector<double>* weights = nullptr) const {
    size_t at = 3;
    const double* none = nullptr;
    const double* pre = pre_queries ? x[at++].data() : none;
    const double* mix = pre_mix ? x[at++].data() : none;
    const double* post = post_queries ? x[at++].data() : none;
    const double* mix_after = post_mix ? x[at++].data() : none;
    const double* groups = post_head ? x[at++].data() : none;
    std::vector<double> out(static_cast<size_t>(B * H * T * E));
    for (int64_t b = 0; b < B; ++b) {
      Matrix a = raw_scores(x, b);
      if (pre) a = convolved(masked(a, b), pre, pre_queries, pre_keys);
      if (mix) a = mixed(a, [&](int64_t o, int64_t h) { return mix[o * H + h]; });
      a = softmaxed(a, b);
      if (post) a = masked(convolved(a, post, post_queries, post_keys), b);
      if (mix_after) a = mixed(a, [&](int64_t o, int64_t h) { return mix_after[o * H + h]; });
      if (groups) {
        const int64_t c = post_head;
        a = mixed(a, [&](int64_t o, int64_t h) { return o / c == h / c ? groups[(h * c) + o % c] : 0.0; });
      }
      if (!factors.empty())
        for (size_t i = 0; i < a.size(); ++i) a[i] *= factors[static_cast<size_t>(b) * a.size() + i];
      if (weights) weights->insert(weights->end(), a.begin(), a.end());
      for (int64_t row = 0; row < H * T; ++row)
        for (int64_t j = 0; j < S; ++j)
          for (int64_t e = 0; e < E; ++e)
            out[(b * H * T + row) * E + e] += a[row * S + j] * x[2][((b * G + row / T * G / H) * S + j) * E + e];
    }
    return out;
  }

 private:
  using Matrix = std::vector<double>;  // (H,T,S)

  bool visible(int64_t b, int64_t i, int64_t j) const { return !sees || sees(b, i, j); }

  Matrix raw_scores(const Doubles& x, int64_t b) const {
    Matrix a(static_cast<size_t>(H * T * S));
    for (int64_t row = 0; row < H * T; ++row)
      for (int64_t j = 0; j < S; ++j)
        for (int64_t d = 0; d < D; ++d)
          a[row * S + j] += x[0][(b * H * T + row) * D + d] * x[1][((b * G + row / T * G / H) * S + j) * D + d] /
                            std::sqrt(static_cast<double>(D));
    return a;
  }
  Matrix masked(Matrix a, int64_t b) const {
    for (int64_t row = 0; row < H * T; ++row)
      for (int64_t j = 0; j < S; ++j)
        if (!visible(b, row % T, j)) a[row * S + j] = 0;
    return a;
  }
  Matrix convolved(const Matrix& a, const double* taps, int64_t queries, int64_t keys) const {
    const int64_t before = pad_key == PadKey::both ? (keys - 1) / 2 : pad_key == PadKey::left ? keys - 1 : 0;
    Matrix out(a.size());
    for (int64_t row = 0; row < H * T; ++row)
      for (int64_t j = 0; j < S; ++j)
        for (int64_t m = 0; m < queries; ++m)
          for (int64_t n = 0; n < keys; ++n) {
            const int64_t i = row % T - (queries - 1) + m, k = j - before + n;
            if (i >= 0 && k >= 0 && k < S)
              out[row * S + j] += taps[(row / T * queries + m) * keys + n] * a[(row / T * T + i) * S + k];
          }
    return out;
  }
  template <class Element>
  Matrix mixed(const Matrix& a, Element element) const {
    Matrix out(a.size());
    for (int64_t o = 0; o < H; ++o)
      for (int64_t h = 0; h < H; ++h)
        for (int64_t n = 0; n < T * S; ++n) out[o * T * S + n] += element(o, h) * a[h * T * S + n];
    return out;
  }
  Matrix softmaxed(Matrix a, int64_t b) const {
    for (int64_t row = 0; row < H * T; ++row) {
      double maximum = -INFINITY, sum = 0;
      for (int64_t j = 0; j < S; ++j)
        if (visible(b, row % T, j)) maximum = std::max(maximum, a[row * S + j]);
      for (int64_t j = 0; j < S; ++j) {
        double& p = a[row * S + j];
        p = visible(b, row % T, j) ? std::exp(p - maximum) : 0;
        sum += p;
      }
      for (int64_t j = 0; j < S && sum > 0; ++j) a[row * S + j] /= sum;
    }
    return a;
  }
};

}  // namespace qkv::test
