// Cross entropy of one row of logits; formula in row_kernels.h. With d = x - max and log Z = log sum e^d,
// log p = d - log Z.
#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

float cross_entropy(const float* logits, int64_t n, int64_t target, float smoothing, float scale, float* dlogits) {
  const vf zero = {};
  const float m = max_over(logits, n, -INFINITY);

  // Vocabularies are long: sums of 1024 terms in float are added up in double.
  constexpr int64_t stretch = 1024;
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
    each(n, [&](auto at, int64_t i) { at.put(dlogits + i, at(dlogits + i) * factor - shift); });
    dlogits[target] -= scale * (1.0f - smoothing);
  }
  double loss = -(1.0 - smoothing) * (target_distance - log_z);
  if (smoothing != 0.0f) loss -= smoothing * (distance / static_cast<double>(n) - log_z);
  return static_cast<float>(loss);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
