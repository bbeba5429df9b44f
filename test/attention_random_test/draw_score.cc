#include <algorithm>
#include <cmath>

#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/bilinear.h"
#include "qkv/attention/score/cosine.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/attention/score/location.h"
#include "qkv/attention/score/score_function.h"
#include "test/attention_random_test/drawn_parts.h"

namespace qkv::test {
namespace {

// |q_i - k_j| of every visible pair, sorted.
std::vector<double> distances(const Tensor& q, const Tensor& k, const VisibleRule& visible) {
  const std::vector<double> x = doubles(q), y = doubles(k);
  const int64_t B = q.dim(0), H = q.dim(1), G = k.dim(1), T = q.dim(2), S = k.dim(2), D = q.dim(3);
  std::vector<double> all;
  for (int64_t row = 0; row < B * H * T; ++row)
    for (int64_t j = 0; j < S; ++j) {
      const int64_t b = row / (H * T), h = row / T % H, key = (b * G + h * G / H) * S + j;
      if (visible && !visible(b, h, row % T, j)) continue;
      double squares = 0;
      for (int64_t d = 0; d < D; ++d) {
        const double difference = x[row * D + d] - y[key * D + d];
        squares += difference * difference;
      }
      all.push_back(std::sqrt(squares));
    }
  std::sort(all.begin(), all.end());
  return all;
}

DrawnScore make_gaussian(const Variable& sigma) {
  return {"gaussian", gaussian(sigma), reference::gaussian(sigma), {sigma}};
}

ScorePtr distance_by_function() {
  return score_function(
      [](const float* q, const float* k, int64_t D) {
        float s = 0;
        for (int64_t d = 0; d < D; ++d) s -= (q[d] - k[d]) * (q[d] - k[d]);
        return s / 2;
      },
      {.backward = [](const float* q, const float* k, int64_t D, float ds, float* dq, float* dk) {
        for (int64_t d = 0; d < D; ++d) {
          dq[d] -= ds * (q[d] - k[d]);
          dk[d] += ds * (q[d] - k[d]);
        }
      }});
}

}  // namespace

std::string draw_score_mechanism(Dice& dice) {
  static const std::vector<std::string> all = {"scaled_dot", "scaled_dot", "dot",      "cosine",
                                               "bilinear",   "location",   "distance", "gaussian",
                                               "gaussian",   "additive",   "concat",   "score_function"};
  return all[static_cast<size_t>(dice.between(0, static_cast<int64_t>(all.size()) - 1))];
}

bool takes_other_key_width(const std::string& mechanism) {
  return mechanism == "bilinear" || mechanism == "additive" || mechanism == "concat" || mechanism == "location";
}

DrawnScore draw_score(Dice& dice, const std::string& mechanism, int64_t Dq, int64_t Dk) {
  const auto of_width = [](int64_t width) { return 1 / std::sqrt(static_cast<double>(width)); };
  if (mechanism == "scaled_dot")
    return {mechanism, dice.one_in(2) ? scaled_dot() : ScorePtr(), reference::scaled_dot()};
  if (mechanism == "dot") {
    const float scale = static_cast<float>(dice.between(1, 8)) / 16.0f;
    return {mechanism, dot(scale), reference::dot(static_cast<double>(scale))};
  }
  if (mechanism == "cosine") {
    const auto scale = static_cast<double>(dice.between(1, 20));
    if (dice.one_in(2)) return {mechanism, cosine(static_cast<float>(scale)), reference::cosine(scale)};
    const Variable gain = dice.parameter(dice.normals({1}, 1));
    return {mechanism, cosine(static_cast<float>(scale), gain), reference::cosine(scale, gain), {gain}};
  }
  if (mechanism == "bilinear") {
    const Variable m = dice.parameter(dice.normals({Dq, Dk}, of_width(Dq * Dk)));
    return {mechanism, bilinear(m), reference::bilinear(m), {m}};
  }
  if (mechanism == "location") {
    const Variable w = dice.parameter(dice.normals({dice.between(1, 320), Dq}, of_width(Dq)));
    return {mechanism, location(w), reference::location(w), {w}};
  }
  if (mechanism == "distance") return {mechanism, distance(), reference::distance()};
  if (mechanism == "score_function") return {mechanism, distance_by_function(), reference::distance()};
  if (mechanism == "gaussian")
    return make_gaussian(dice.parameter(
        Tensor::full({1}, std::sqrt(static_cast<float>(Dq)) * static_cast<float>(dice.between(2, 8)) / 4)));
  const int64_t F = dice.between(1, 24);
  const Variable w_v = dice.parameter(dice.normals({F}, 1));
  if (mechanism == "concat") {
    const Variable w = dice.parameter(dice.normals({F, Dq + Dk}, of_width(Dq + Dk)));
    return {mechanism, concat(w, w_v), reference::concat(w, w_v), {w, w_v}};
  }
  const Variable w_q = dice.parameter(dice.normals({F, Dq}, of_width(Dq))),
                 w_k = dice.parameter(dice.normals({F, Dk}, of_width(Dk)));
  return {"additive", additive(w_q, w_k, w_v), reference::additive(w_q, w_k, w_v), {w_q, w_k, w_v}};
}

// Some share of the pairs lies inside; the edge is in the middle of the widest gap around there.
DrawnScore draw_gaussian_for_kernel(Dice& dice, const Tensor& q, const Tensor& k, const VisibleRule& visible) {
  const std::vector<double> sorted = distances(q, k, visible);
  double sigma = 1;
  if (sorted.size() >= 2) {
    const auto last = static_cast<int64_t>(sorted.size()) - 2, from = dice.between(0, last);
    const auto gap = [&](int64_t i) { return sorted[i + 1] - sorted[i]; };
    int64_t widest = from;
    for (int64_t i = from; i <= std::min(last, from + 500); ++i)
      if (gap(i) > gap(widest)) widest = i;
    sigma = (sorted[widest] + sorted[widest + 1]) / 2;
  }
  return make_gaussian(dice.parameter(Tensor::full({1}, static_cast<float>(sigma > 0 ? sigma : 1))));
}

}  // namespace qkv::test
