// Activations and their derivatives.
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

const vf zeros = {};

// f(x) = 1 / (1 + e^-x) and its slope f (1 - f), from e = e^-|x|: neither cancels. Beyond 88, e is 0.
struct Logistic {
  vf value, slope;
};
QKV_INLINE Logistic logistic(vf x) {
  const vf a = max(-x, x), e = a > 88.0f ? zeros : exp(-a), t = 1.0f / (1.0f + e), et = e * t;
  return {x > 0.0f ? t : et, et * t};
}

// Near 0 an odd polynomial (relative error 5e-9 before rounding), elsewhere 1 - 2 / (e^2|x| + 1).
QKV_INLINE vf hyperbolic_tangent(vf x) {
  const vf a = max(-x, x), z = x * x;
  vf p = broadcast(-0.00570482528f);
  p = p * z + 0.0206389502f;
  p = p * z - 0.0537396744f;
  p = p * z + 0.133314416f;
  p = p * z - 0.333332807f;
  const vf far = 1.0f - 2.0f / (exp(a + a) + 1.0f);
  return a < 0.625f ? x + x * (z * p) : (x < 0.0f ? -far : far);
}

// The normal distribution: density(x) = e^(-x^2/2) / sqrt(2 pi), and cumulative(x) = P(X < x). The tail is
// e^(-x^2/2) P(u), u = 1 / (1 + 0.35 |x|), P of degree 9 without a constant: relative error 4e-8 before rounding.
struct Normal {
  vf density, cumulative;
};
QKV_INLINE Normal normal(vf x) {
  const vf a = max(-x, x), u = 1.0f / (1.0f + 0.35f * a);
  vf p = broadcast(-0.0291460489f);
  p = p * u + 0.143972271f;
  p = p * u - 0.255715428f;
  p = p * u + 0.159175488f;
  p = p * u - 0.0231107382f;
  p = p * u + 0.105508381f;
  p = p * u + 0.119832774f;
  p = p * u + 0.139861882f;
  p = p * u + 0.139621404f;
  const vf e = a > 13.0f ? zeros : exp(-0.5f * x * x);
  const vf tail = e * (p * u);
  return {e * 0.398942280f, x > 0.0f ? 1.0f - tail : tail};
}

// x f(x) where f tends to 0 faster than x to -infinity.
QKV_INLINE vf times(vf x, vf f) { return f == 0.0f ? zeros : x * f; }

// gelu_tanh(x) = x/2 (1 + tanh(w)) = x sigmoid(2w), w = sqrt(2/pi) (x + 0.044715 x^3).
constexpr float w_1 = 0.797884561f, w_3 = 0.0356774081f;

}  // namespace

void relu(const float* x, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, max(zeros, at(x + i))); });
}
void relu_backward(const float* x, const float* dy, int64_t n, float* dx) {
  each(n, [&](auto at, int64_t i) { at.put(dx + i, at(x + i) > 0.0f ? at(dy + i) : zeros); });
}

namespace {

constexpr vi bit_of_lane = 1 << lane_numbers;

}  // namespace

void positive(const float* x, int64_t n, uint16_t* bits) {
  for (int64_t begin = 0; begin < n; begin += numbers_of_word) {
    int32_t word = 0;
    each(n - begin < numbers_of_word ? n - begin : numbers_of_word, [&](auto at, int64_t i) {
      const vi is_positive = at(x + begin + i) > 0.0f;
      word |= across_lanes(is_positive & bit_of_lane, [](vi a, vi b) { return a | b; }) << i;
    });
    bits[begin / numbers_of_word] = static_cast<uint16_t>(word);
  }
}
void where(const uint16_t* bits, const float* x, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) {
    const vi word = broadcast_i(bits[i / numbers_of_word] >> i % numbers_of_word);
    at.put(y + i, (word & bit_of_lane) != 0 ? at(x + i) : zeros);
  });
}

void gelu(const float* x, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) {
    const vf v = at(x + i);
    at.put(y + i, times(v, normal(v).cumulative));
  });
}
void gelu_backward(const float* x, const float* dy, int64_t n, float* dx) {
  each(n, [&](auto at, int64_t i) {
    const vf v = at(x + i);
    const Normal at_v = normal(v);
    at.put(dx + i, at(dy + i) * (at_v.cumulative + times(v, at_v.density)));
  });
}

void gelu_tanh(const float* x, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) {
    const vf v = at(x + i);
    at.put(y + i, times(v, logistic(2.0f * v * (w_1 + w_3 * v * v)).value));
  });
}
void gelu_tanh_backward(const float* x, const float* dy, int64_t n, float* dx) {
  each(n, [&](auto at, int64_t i) {
    const vf v = at(x + i);
    const Logistic s = logistic(2.0f * v * (w_1 + w_3 * v * v));
    at.put(dx + i, at(dy + i) * (s.value + times(v * (2.0f * w_1 + 6.0f * w_3 * v * v), s.slope)));
  });
}

void silu(const float* x, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) {
    const vf v = at(x + i);
    at.put(y + i, times(v, logistic(v).value));
  });
}
void silu_backward(const float* x, const float* dy, int64_t n, float* dx) {
  each(n, [&](auto at, int64_t i) {
    const vf v = at(x + i);
    const Logistic s = logistic(v);
    at.put(dx + i, at(dy + i) * (s.value + times(v, s.slope)));
  });
}

void sigmoid(const float* x, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, logistic(at(x + i)).value); });
}
void sigmoid_backward(const float* x, const float* dy, int64_t n, float* dx) {
  each(n, [&](auto at, int64_t i) { at.put(dx + i, at(dy + i) * logistic(at(x + i)).slope); });
}

void tanh(const float* x, int64_t n, float* y) {
  each(n, [&](auto at, int64_t i) { at.put(y + i, hyperbolic_tangent(at(x + i))); });
}
void tanh_backward(const float* x, const float* dy, int64_t n, float* dx) {
  each(n, [&](auto at, int64_t i) {
    const vf t = hyperbolic_tangent(at(x + i));
    at.put(dx + i, at(dy + i) * (1.0f - t * t));
  });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
