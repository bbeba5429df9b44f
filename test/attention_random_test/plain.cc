#include "test/attention_random_test/plain.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <type_traits>

#include "test/attention_random_test/plain_score.h"

namespace qkv::test {
namespace {

// A modifier on one pair: forward, and what the backward adds to its parameter.
template <class Real>
class PlainModifier {
 public:
  PlainModifier(const DrawnModifier& m, const AttentionShape& n) : m_(m), n_(n) {
    if (!m.parameter.defined()) return;
    values_ = read<Real>(m.parameter.value());
    gradient.resize(values_.size());
    squares.resize(values_.size());
  }
  Real forward(int64_t b, int64_t h, int64_t i, int64_t j, Real s) const {
    const Real cap = static_cast<Real>(m_.cap);
    switch (m_.kind) {
      case DrawnModifier::softcap: return s == -INFINITY ? s : cap * std::tanh(s / cap);
      case DrawnModifier::alibi: return s - values_[h] * slope(i, j);
      default: return s + values_[index(b, h, i, j)];
    }
  }
  // From the gradient of the modified score to that of the raw one; `error` is how uncertain it is.
  Real backward(int64_t b, int64_t h, int64_t i, int64_t j, Real modified, Real ds, double& error) {
    if (m_.kind == DrawnModifier::softcap) {
      const Real t = modified / static_cast<Real>(m_.cap), slope_of_tanh = 1 - t * t;
      error = error * static_cast<double>(slope_of_tanh) + std::abs(static_cast<double>(ds));
      return ds * slope_of_tanh;
    }
    const Real factor = m_.kind == DrawnModifier::alibi ? -slope(i, j) : 1;
    const size_t at = index(b, h, i, j);
    gradient[at] += factor * ds;
    squares[at] += error * error * static_cast<double>(factor * factor);
    return ds;
  }

  std::vector<Real> gradient;
  std::vector<double> squares;

 private:
  Real slope(int64_t i, int64_t j) const { return static_cast<Real>(std::abs(n_.position(i) - j)); }
  size_t index(int64_t b, int64_t h, int64_t i, int64_t j) const {
    int64_t at = h;
    if (m_.kind == DrawnModifier::relative) at = relative_bucket(j - n_.position(i), m_.buckets) * n_.H + h;
    if (m_.kind == DrawnModifier::bias) {
      const Shape& shape = m_.parameter.shape();
      const int64_t full[4] = {b, h, i, j};
      at = 0;
      for (int axis = 0; axis < 4; ++axis) at = at * shape[axis] + (shape[axis] == 1 ? 0 : full[axis]);
    }
    return static_cast<size_t>(at);
  }

  const DrawnModifier& m_;
  const AttentionShape& n_;
  std::vector<Real> values_;
};

template <class Real>
void add_scaled(Real* sum, Real factor, const Real* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) sum[i] += factor * x[i];
}

// Adds the squares of factor * x: what independent errors of the terms of a sum add up to.
template <class Real>
void add_squares(std::vector<double>& sum, int64_t at, double factor, const Real* x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const double term = factor * static_cast<double>(x[i]);
    sum[at + i] += term * term;
  }
}

template <class Kind>
class PlainAttention {
  using Real = typename Kind::Real;

  // A result, and the squares of the errors of its terms, in units of the rounding of one number.
  struct Sum {
    std::vector<Real> values;
    std::vector<double> squares;
    explicit Sum(size_t size) : values(size), squares(size) {}
  };

 public:
  explicit PlainAttention(const Drawn& call)
      : call_(call),
        n_(call.n),
        score_(call),
        v_(read<Real>(call.v)),
        dout_(read<Real>(call.dout)),
        out_(dout_.size()),
        weights_(call.visible.size()),
        lse_(static_cast<size_t>(n_.B * n_.H * n_.T)),
        dq_(score_.q.size()),
        dk_(score_.k.size()),
        dv_(v_.size()),
        dsink_(static_cast<size_t>(call.sink.defined() ? n_.H : 0)) {
    for (const DrawnModifier& m : call.modifiers) modifiers_.emplace_back(m, n_);
    if (call.sink.defined()) sink_ = read<Real>(call.sink.value());
  }

  std::vector<Numbers> run() {
    for (int64_t row = 0; row < n_.B * n_.H * n_.T; ++row) one_row(row);
    score_.finish(dq_, dk_);
    std::vector<Numbers> all = {
        numbers("out", out_.values, out_.squares), numbers("weights", weights_.values, weights_.squares),
        numbers("lse", lse_.values, lse_.squares), numbers("dq", dq_.values, dq_.squares),
        numbers("dk", dk_.values, dk_.squares),    numbers("dv", dv_.values, dv_.squares)};
    for (size_t m = 0; m < modifiers_.size(); ++m)
      if (call_.modifiers[m].parameter.defined() && call_.modifiers[m].parameter.requires_grad())
        all.push_back(
            numbers("gradient of modifier " + std::to_string(m), modifiers_[m].gradient, modifiers_[m].squares));
    if (!sink_.empty()) all.push_back(numbers("gradient of the sink", dsink_.values, dsink_.squares));
    return all;
  }

 private:
  // A pair on its way: the scores after each modifier, the weight and its slope along the score, the gradients;
  // *_error in units of a rounding.
  struct Pair {
    std::vector<Real> s;
    Real p = 0, slope = 0, w = 0, dp = 0;
    double score_error = 1, dp_error = 0;
    double p_error = 0, slope_error = 0;
    bool seen() const { return s.back() > -INFINITY; }
  };

  void one_row(int64_t row) {
    const int64_t b = row / (n_.H * n_.T), h = row / n_.T % n_.H, i = row % n_.T;
    const int64_t first = (b * n_.G + h * n_.G / n_.H) * n_.S;
    std::vector<Pair> pairs(static_cast<size_t>(n_.S));
    for (int64_t j = 0; j < n_.S; ++j) score({b, h, i, j}, first + j, pairs[j]);
    lse_.values[row] = -INFINITY;
    Real most = -INFINITY, total = 0;
    for (const Pair& x : pairs) most = std::max(most, x.s.back());
    if (most == -INFINITY) return;
    Real sink = 0;  // its weight
    if (!sink_.empty()) {
      most = std::max(most, sink_[h]);
      total = sink = std::exp(sink_[h] - most);
    }
    if (call_.kernel != DrawnKernel::none) most = 0;
    for (Pair& x : pairs) total += x.p = x.seen() ? unnormalized(x, most) : 0;
    if (total == 0) return;
    lse_.values[row] = most + std::log(total);
    lse_.squares[row] = std::max(1.0, static_cast<double>(most) * static_cast<double>(most));
    for (Pair& x : pairs) divide(x, total);
    if (call_.kernel != DrawnKernel::none) lse_.squares[row] += share_error_of_total(pairs);
    Real delta = 0;
    double delta_squares = 0;
    for (int64_t j = 0; j < n_.S; ++j) {
      Pair& x = pairs[j];
      if (!x.seen()) continue;
      weigh(row, j, first + j, x);
      delta += x.p * x.dp;
      const double term = static_cast<double>(x.p) * x.dp_error;
      delta_squares += term * term;
    }
    if (!sink_.empty()) {  // a key without a value
      dsink_.values[h] -= sink / total * delta;
      dsink_.squares[h] += delta_squares + static_cast<double>(delta) * static_cast<double>(delta);
    }
    for (int64_t j = 0; j < n_.S; ++j)
      if (pairs[j].seen()) pass_back({b, h, i, j}, first + j, pairs[j], delta, std::sqrt(delta_squares));
  }

  // The weight before its division; a kernel's slope.
  Real unnormalized(Pair& x, Real most) const {
    if (call_.kernel == DrawnKernel::none) return std::exp(x.s.back() - most);
    const KernelAt<Real> at(call_.kernel, x.s.back());
    x.slope = at.slope;
    return at.value;
  }
  // No exponential is more exact than the rounding of its score. A kernel moves with the score along its slope, and
  // the slope with the distance (1 / u).
  void divide(Pair& x, Real total) const {
    x.p = Kind::keep(x.p / total);
    if (call_.kernel == DrawnKernel::none) {
      x.slope = x.p;
      x.p_error = x.slope_error = static_cast<double>(x.p) * std::max(1.0, x.score_error);
      return;
    }
    x.slope = Kind::keep(x.slope / total);
    const auto slope = static_cast<double>(x.slope), size = std::abs(static_cast<double>(x.s.back()));
    x.p_error = static_cast<double>(x.p) + slope * x.score_error;
    x.slope_error = size > 0 ? slope * (1 + x.score_error / size) : slope;
  }

  // A total of a few values near the edge of a kernel is as uncertain as they are; so is all that it divides.
  // Returns the square of its relative error.
  double share_error_of_total(std::vector<Pair>& pairs) const {
    double squares = 0;
    for (const Pair& x : pairs) squares += x.p_error * x.p_error;
    for (Pair& x : pairs) {
      x.p_error += static_cast<double>(x.p) * std::sqrt(squares);
      x.slope_error += static_cast<double>(x.slope) * std::sqrt(squares);
    }
    return squares;
  }

  struct Place {
    int64_t b, h, i, j;
  };
  int64_t row_of(const Place& at) const { return (at.b * n_.H + at.h) * n_.T + at.i; }

  void score(const Place& at, int64_t key, Pair& x) const {
    x.s.assign(modifiers_.size() + 1, -INFINITY);
    if (!call_.visible[row_of(at) * n_.S + at.j]) return;
    x.s[0] = Kind::keep(score_.forward(row_of(at), key, x.score_error));
    for (size_t m = 0; m < modifiers_.size(); ++m)
      x.s[m + 1] = Kind::keep(modifiers_[m].forward(at.b, at.h, at.i, at.j, x.s[m]));
    for (const Real s : x.s)
      if (s > -INFINITY) x.score_error = std::max(x.score_error, std::abs(static_cast<double>(s)));
  }

  void weigh(int64_t row, int64_t j, int64_t key, Pair& x) {
    const Real factor = static_cast<Real>(call_.factors[row * n_.S + j]);
    const Real *upstream = &dout_[row * n_.E], *value = &v_[key * n_.E];
    x.w = Kind::keep(factor * x.p);
    weights_.values[row * n_.S + j] = x.w;
    add_scaled(&out_.values[row * n_.E], x.w, value, n_.E);
    add_scaled(&dv_.values[key * n_.E], x.w, upstream, n_.E);
    x.dp = Kind::keep(factor * dot_product(upstream, value, n_.E));
    if constexpr (std::is_same_v<Kind, Exact>) {
      const double error = std::abs(factor) * x.p_error;
      weights_.squares[row * n_.S + j] = error * error;
      add_squares(out_.squares, row * n_.E, error, value, n_.E);
      add_squares(dv_.squares, key * n_.E, error, upstream, n_.E);
      double sum = 0, squares = 0;  // every partial sum is rounded
      for (int64_t e = 0; e < n_.E; ++e) {
        sum += upstream[e] * value[e];
        squares += sum * sum;
      }
      x.dp_error = std::abs(factor) * std::sqrt(squares);
    }
  }

  void pass_back(const Place& at, int64_t key, const Pair& x, Real delta, double delta_error) {
    Real ds = Kind::keep(x.slope * (x.dp - delta));
    double error = static_cast<double>(x.slope) * (x.dp_error + delta_error) +
                   std::abs(static_cast<double>(x.dp - delta)) * x.slope_error;
    for (size_t m = modifiers_.size(); m-- > 0;)
      ds = Kind::keep(modifiers_[m].backward(at.b, at.h, at.i, at.j, x.s[m + 1], ds, error));
    score_.backward(row_of(at), key, ds, error, dq_, dk_);
  }

  static Numbers numbers(const std::string& name, const std::vector<Real>& x, const std::vector<double>& squares) {
    Numbers result{name, {}, 0};
    for (const Real value : x) {
      result.values.push_back(static_cast<double>(Kind::keep(value)));
      if (std::isfinite(value)) result.size = std::max(result.size, std::abs(result.values.back()));
    }
    for (const double square : squares) result.size = std::max(result.size, std::sqrt(square));
    return result;
  }

  const Drawn& call_;
  const AttentionShape& n_;
  PlainScore<Kind> score_;
  std::vector<Real> v_, dout_, sink_;
  Sum out_, weights_, lse_, dq_, dk_, dv_, dsink_;
  std::vector<PlainModifier<Real>> modifiers_;
};

}  // namespace

std::vector<Numbers> plain_attention(const Drawn& call, Precision precision) {
  switch (precision) {
    case Precision::exact: return PlainAttention<Exact>(call).run();
    case Precision::single: return PlainAttention<Single>(call).run();
    case Precision::bf16: break;
  }
  return PlainAttention<Bf16>(call).run();
}

}  // namespace qkv::test
