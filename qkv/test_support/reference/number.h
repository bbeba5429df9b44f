// The number types of the reference: float64 (exact, for our purposes), float32, bfloat16, and float64 that carries an
// estimate of the error that float32 or bfloat16 would have made.
//
// A number type is a Kind: Kind::Real does the arithmetic, Kind::keep(x) is x as it is stored between two steps. The
// plain bfloat16 computation sums in float32 and stores bfloat16.
#pragma once

#include <algorithm>
#include <cmath>

#include "qkv/tensor/dtype.h"

namespace qkv::test::reference {

// A float64 value, and the variance that rounding every operation up to it explains: first-order error propagation
// with independent errors, in squares of `unit`, the relative rounding error of float32.
struct Measured {
  static constexpr double unit = 0x1p-24;
  double value = 0, variance = 0;

  Measured() = default;
  Measured(double x) : value(x) {}  // NOLINT: implicit on purpose, an exact constant
  Measured(double x, double v) : value(x), variance(std::isfinite(x) ? v : 0) {}

  static Measured rounded(double x, double v) { return {x, v + x * x}; }
  Measured& operator+=(const Measured& b) { return *this = *this + b; }
  Measured& operator-=(const Measured& b) { return *this = *this - b; }
  friend Measured operator-(const Measured& a) { return {-a.value, a.variance}; }
  friend Measured operator+(const Measured& a, const Measured& b) {
    return rounded(a.value + b.value, a.variance + b.variance);
  }
  friend Measured operator-(const Measured& a, const Measured& b) {
    return rounded(a.value - b.value, a.variance + b.variance);
  }
  friend Measured operator*(const Measured& a, const Measured& b) {
    return rounded(a.value * b.value, a.variance * b.value * b.value + b.variance * a.value * a.value);
  }
  friend Measured operator/(const Measured& a, const Measured& b) {
    const double x = a.value / b.value;
    return rounded(x, (a.variance + b.variance * x * x) / (b.value * b.value));
  }
};

inline double value_of(const Measured& x) { return x.value; }
inline double value_of(double x) { return x; }
inline double value_of(float x) { return static_cast<double>(x); }
inline Measured exp(const Measured& x) {
  const double y = std::exp(x.value);
  return Measured::rounded(y, x.variance * y * y);
}
inline Measured log(const Measured& x) {
  return Measured::rounded(std::log(x.value), x.variance / (x.value * x.value));
}
inline Measured tanh(const Measured& x) {
  const double y = std::tanh(x.value), slope = 1 - y * y;
  return Measured::rounded(y, x.variance * slope * slope);
}
inline Measured sqrt(const Measured& x) {
  return x.value == 0 ? Measured(0) : Measured::rounded(std::sqrt(x.value), x.variance / (4 * x.value));
}
using std::exp;
using std::log;
using std::sqrt;
using std::tanh;

struct Float64 {
  using Real = double;
  static Real keep(Real x) { return x; }
};
struct Float32 {
  using Real = float;
  static Real keep(Real x) { return x; }
};
struct Bfloat16 {
  using Real = float;
  static Real keep(Real x) { return static_cast<float>(bfloat16(x)); }
};
struct MeasuredFloat32 {
  using Real = Measured;
  static Real keep(const Real& x) { return x; }
};
struct MeasuredBfloat16 {
  using Real = Measured;
  static Real keep(const Real& x) {
    constexpr double ratio = 0x1p-9 / Measured::unit;  // of the rounding errors of bfloat16 and float32
    return {x.value, x.variance + x.value * x.value * ratio * ratio};
  }
};

}  // namespace qkv::test::reference
