// The scores and kernels of the plain computation, in the precisions it is made in.
#pragma once

#include <cmath>
#include <type_traits>
#include <vector>

#include "test/attention_random_test/draw.h"

namespace qkv::test {

struct Exact {
  using Real = double;
  static Real keep(Real x) { return x; }
};
struct Single {
  using Real = float;
  static Real keep(Real x) { return x; }
};
struct Bf16 {
  using Real = float;
  static Real keep(Real x) { return static_cast<float>(bfloat16(x)); }
};

template <class Real>
std::vector<Real> read(const Tensor& x) {
  const Tensor packed = (x.dtype() == DType::f32 ? x : x.to(DType::f32)).contiguous_copy();
  return {packed.span<float>().begin(), packed.span<float>().end()};
}

template <class Real>
Real dot_product(const Real* a, const Real* b, int64_t n) {
  Real sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
// A score by the raw queries and keys, and its gradients. Errors are in units of the rounding of 1.
template <class Kind>
class PlainScore {
  using Real = typename Kind::Real;

 public:
  std::vector<Real> q, k;  // of cosine: of length one

  explicit PlainScore(const Drawn& call)
      : q(read<Real>(call.q)),
        k(read<Real>(call.k)),
        call_(call),
        D_(call.n.D),
        scale_(static_cast<Real>(call.scale)),
        inverse_width_(1 / static_cast<Real>(call.sigma)) {
    if (call.score != DrawnScore::cosine) return;
    q_lengths_ = shorten(q);
    k_lengths_ = shorten(k);
  }

  Real forward(int64_t query, int64_t key, double& error) const {
    const Real *x = &q[query * D_], *y = &k[key * D_];
    if (call_.score != DrawnScore::gaussian) {
      const Real s = scale_ * dot_product(x, y, D_);
      error = std::abs(static_cast<double>(s));
      return s;
    }
    Real sum = 0;
    double squares = 0;
    for (int64_t d = 0; d < D_; ++d) {
      const Real difference = (x[d] - y[d]) * inverse_width_;
      sum += difference * difference;
      const double term = static_cast<double>(difference) * size_of_terms(x[d], y[d]);
      squares += term * term;
    }
    error = static_cast<double>(sum) / 2 + std::sqrt(squares);
    return -sum / 2;
  }

  // `error` is that of ds.
  template <class Sum>
  void backward(int64_t query, int64_t key, Real ds, double error, Sum& dq, Sum& dk) const {
    const Real *x = &q[query * D_], *y = &k[key * D_];
    const bool is_distance = call_.score == DrawnScore::gaussian;
    for (int64_t d = 0; d < D_; ++d) {
      const Real difference = (x[d] - y[d]) * inverse_width_;
      const Real to_q = is_distance ? -difference * inverse_width_ : scale_ * y[d];
      const Real to_k = is_distance ? difference * inverse_width_ : scale_ * x[d];
      dq.values[query * D_ + d] += ds * to_q;
      dk.values[key * D_ + d] += ds * to_k;
      if constexpr (std::is_same_v<Real, double>) {
        const double rounding = is_distance ? std::abs(ds) * size_of_terms(x[d], y[d]) * inverse_width_ : 0;
        dq.squares[query * D_ + d] += std::pow(error * std::abs(to_q) + rounding, 2);
        dk.squares[key * D_ + d] += std::pow(error * std::abs(to_k) + rounding, 2);
      }
    }
  }

  // After the last pair: from the gradients of what the score reads to those of queries and keys.
  template <class Sum>
  void finish(Sum& dq, Sum& dk) const {
    if (call_.score != DrawnScore::cosine) return;
    lengthen(q, q_lengths_, dq);
    lengthen(k, k_lengths_, dk);
  }

 private:
  // Of a difference of two numbers that were each divided by the width.
  double size_of_terms(Real x, Real y) const {
    return static_cast<double>((std::abs(x) + std::abs(y)) * inverse_width_);
  }

  std::vector<Real> shorten(std::vector<Real>& x) const {
    std::vector<Real> lengths;
    for (size_t row = 0; row < x.size(); row += static_cast<size_t>(D_)) {
      lengths.push_back(std::sqrt(dot_product(&x[row], &x[row], D_)));
      for (int64_t d = 0; d < D_; ++d) x[row + d] = Kind::keep(x[row + d] / lengths.back());
    }
    return lengths;
  }

  // dx = (dy - y (y . dy)) / |x|
  template <class Sum>
  void lengthen(const std::vector<Real>& y, const std::vector<Real>& lengths, Sum& dx) const {
    for (size_t n = 0; n < lengths.size(); ++n) {
      const size_t row = n * static_cast<size_t>(D_);
      Real along = 0;
      double squares = 0;
      for (size_t at = row; at < row + D_; ++at) {
        dx.values[at] = Kind::keep(dx.values[at]);
        along += y[at] * dx.values[at];
        const auto g = static_cast<double>(dx.values[at]), unit = static_cast<double>(y[at]);
        squares += unit * unit * (dx.squares[at] + g * g);
      }
      const auto length = static_cast<double>(lengths[n]);
      for (size_t at = row; at < row + D_; ++at) {
        const auto unit = static_cast<double>(y[at]), whole = static_cast<double>(along);
        dx.squares[at] = (dx.squares[at] + unit * unit * (squares + whole * whole)) / (length * length);
        dx.values[at] = (dx.values[at] - y[at] * along) / lengths[n];
      }
    }
  }

  const Drawn& call_;
  int64_t D_;
  Real scale_, inverse_width_;
  std::vector<Real> q_lengths_, k_lengths_;
};

// A kernel of u, s = -u^2 / 2: its value and its slope along s.
template <class Real>
struct KernelAt {
  Real value = 1, slope = 0;

  KernelAt(DrawnKernel kernel, Real s) {
    const Real u = std::sqrt(-2 * s);
    const bool inside = u < 1;
    if (kernel == DrawnKernel::epanechnikov) {
      value = inside ? 1 - u * u : 0;
      slope = inside ? 2 : 0;
    } else if (kernel == DrawnKernel::triangular) {
      value = inside ? 1 - u : 0;
      slope = inside && u > 0 ? 1 / u : 0;
    }
  }
};

}  // namespace qkv::test
