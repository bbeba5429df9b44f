#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

float softmax(const float* x, int64_t n, float* y) {
  const float m = max_over(x, n, -INFINITY);
  if (m == -INFINITY) {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] == -INFINITY ? 0.0f : x[i];  // x[i] is NaN otherwise
    return -INFINITY;
  }
  const vf zero = {};
  const float sum = sum_over<16>(n, [&](auto at, int64_t i) {
    const vf v = at(x + i), e = at.only(v == -INFINITY ? zero : exp(v - m));
    at.put(y + i, e);
    return e;
  });
  const float scale = 1.0f / sum;
  each(n, [&](auto at, int64_t i) { at.put(y + i, at(y + i) * scale); });
  return m + logf(sum);
}

void softmax_backward(const float* y, const float* dy, int64_t n, float* dx) {
  const float dot = sum_over(n, [&](auto at, int64_t i) { return at(y + i) * at(dy + i); });
  each(n, [&](auto at, int64_t i) { at.put(dx + i, at(y + i) * (at(dy + i) - dot)); });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
