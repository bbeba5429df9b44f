// A number and its derivative along one input: forward-mode automatic differentiation of a function of one number
// (Wengert, "A simple automatic derivative evaluation program", 1964).
//
//     const Dual y = tanh(Dual{0.5f, 1.0f}) * 3;       // y.value = 3 tanh(0.5), y.derivative = 3 (1 - tanh(0.5)^2)
//
// score_mod() evaluates functions with it. Comparisons compare values.
#pragma once

#include <cmath>

namespace qkv {

struct Dual {
  float value = 0, derivative = 0;

  Dual() = default;
  Dual(float v, float d = 0) : value(v), derivative(d) {}  // NOLINT: a constant, implicit on purpose
  Dual(double v) : Dual(static_cast<float>(v)) {}          // NOLINT
  Dual(int v) : Dual(static_cast<float>(v)) {}             // NOLINT
  Dual(long v) : Dual(static_cast<float>(v)) {}            // NOLINT

  friend Dual operator-(Dual a) { return {-a.value, -a.derivative}; }
  friend Dual operator+(Dual a, Dual b) { return {a.value + b.value, a.derivative + b.derivative}; }
  friend Dual operator-(Dual a, Dual b) { return {a.value - b.value, a.derivative - b.derivative}; }
  friend Dual operator*(Dual a, Dual b) {
    return {a.value * b.value, a.derivative * b.value + a.value * b.derivative};
  }
  friend Dual operator/(Dual a, Dual b) {
    const float quotient = a.value / b.value;
    return {quotient, (a.derivative - quotient * b.derivative) / b.value};
  }
  friend bool operator<(Dual a, Dual b) { return a.value < b.value; }
  friend bool operator>(Dual a, Dual b) { return a.value > b.value; }
  friend bool operator<=(Dual a, Dual b) { return a.value <= b.value; }
  friend bool operator>=(Dual a, Dual b) { return a.value >= b.value; }

  friend Dual exp(Dual a) {
    const float e = std::exp(a.value);
    return {e, e * a.derivative};
  }
  friend Dual log(Dual a) { return {std::log(a.value), a.derivative / a.value}; }
  friend Dual sqrt(Dual a) {
    const float root = std::sqrt(a.value);
    return {root, a.derivative / (2 * root)};
  }
  friend Dual tanh(Dual a) {
    const float t = std::tanh(a.value);
    return {t, (1 - t * t) * a.derivative};
  }
  friend Dual abs(Dual a) { return a.value < 0 ? -a : a; }
  friend Dual max(Dual a, Dual b) { return a.value < b.value ? b : a; }
  friend Dual min(Dual a, Dual b) { return b.value < a.value ? b : a; }
};

}  // namespace qkv
