// Losses of rows of logits; formulas in row_kernels.h. With d = x - max and log Z = log sum e^d, log p = d - log Z.
#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// Vocabularies are long: sums of 1024 terms in float are added up in double.
constexpr int64_t stretch = 1024;

template <class F>
QKV_INLINE double long_sum(int64_t n, F term) {
  double total = 0.0;
  for (int64_t start = 0; start < n; start += stretch)
    total += sum_over<32>(n - start < stretch ? n - start : stretch,
                          [&](auto at, int64_t i) { return at.only(term(at, start + i)); });
  return total;
}

// e^(x - max): the weights of a softmax before their division by the sum.
template <class At>
QKV_INLINE vf weight(const At& at, const float* x, float max) {
  const vf d = at(x) - max;
  return d == -INFINITY ? vf{} : exp(d);
}

}  // namespace

float cross_entropy(const float* logits, int64_t n, int64_t target, float smoothing, float scale, float* dlogits) {
  const vf zero = {};
  const float m = max_over(logits, n, -INFINITY);

  double total = 0.0, distance = 0.0;
  const float target_distance = logits[target] - m;
  for (int64_t start = 0; start < n; start += stretch) {
    const int64_t count = n - start < stretch ? n - start : stretch;
    const float* x = logits + start;
    float* e = dlogits ? dlogits + start : nullptr;
    if (smoothing != 0.0f) distance += sum_over(count, [&](auto at, int64_t i) { return at.only(at(x + i) - m); });
    total += sum_over<32>(count, [&](auto at, int64_t i) {
      const vf d = at(x + i) - m, w = at.only(d == -INFINITY ? zero : exp(d));
      if (e) at.put(e + i, w);
      return w;
    });
  }
  const double log_z = log(total);
  if (dlogits) {
    const float factor = static_cast<float>(scale / total), shift = scale * smoothing / static_cast<float>(n);
    each(n, [&](auto at, int64_t i) {
      at.put(dlogits + i, fused(at(dlogits + i), broadcast(factor), broadcast(-shift)));
    });
    dlogits[target] -= scale * (1.0f - smoothing);
  }
  double loss = -(1.0 - smoothing) * (target_distance - log_z);
  if (smoothing != 0.0f) loss -= smoothing * (distance / static_cast<double>(n) - log_z);
  return static_cast<float>(loss);
}

ExponentialSum exponential_sum(const float* x, int64_t n) {
  const float m = max_over(x, n, -INFINITY);
  if (m == -INFINITY) return {m, 0.0f};
  return {m, sum_over<32>(n, [&](auto at, int64_t i) { return at.only(weight(at, x + i, m)); })};
}

float symmetric_divergence(const float* x, const float* y, int64_t n, float scale, float* dx, float* dy) {
  const float x_max = max_over(x, n, -INFINITY), y_max = max_over(y, n, -INFINITY);
  const auto p = [&](auto at, int64_t i) { return weight(at, x + i, x_max); };
  const auto q = [&](auto at, int64_t i) { return weight(at, y + i, y_max); };
  // log p - log q up to a constant, which cancels in everything below. Where a weight is zero, its term is zero,
  // even if the difference is infinite.
  const auto difference = [&](auto at, int64_t i) { return at(x + i) - at(y + i); };
  const auto term = [](vf w, vf d) { return w == 0.0f ? vf{} : w * d; };
  const double p_sum = long_sum(n, p), q_sum = long_sum(n, q);
  const double p_mean = long_sum(n, [&](auto at, int64_t i) { return term(p(at, i), difference(at, i)); }) / p_sum;
  const double q_mean = long_sum(n, [&](auto at, int64_t i) { return term(q(at, i), difference(at, i)); }) / q_sum;
  if (dx) {
    const float p_factor = static_cast<float>(1.0 / p_sum), q_factor = static_cast<float>(1.0 / q_sum);
    const float p_shift = static_cast<float>(p_mean), q_shift = static_cast<float>(q_mean);
    each(n, [&](auto at, int64_t i) {
      // Rounded before they are subtracted, in which compilers would fuse one of them: of equal rows the difference is zero.
      const vf a = fused(p(at, i), broadcast(p_factor), vf{}), b = fused(q(at, i), broadcast(q_factor), vf{});
      const vf excess = a - b, d = difference(at, i);
      at.put(dx + i, at(dx + i) + scale * (term(a, d - p_shift) + excess));
      at.put(dy + i, at(dy + i) + scale * (term(b, q_shift - d) - excess));
    });
  }
  return static_cast<float>(p_mean - q_mean);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
