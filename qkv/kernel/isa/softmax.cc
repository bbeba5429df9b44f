#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/rows.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

float softmax(const float* x, int64_t n, float* y) {
  const int64_t whole = n / lanes * lanes;
  const int rest = static_cast<int>(n - whole);
  vf largest = broadcast(-INFINITY);
  for (int64_t i = 0; i < whole; i += lanes) largest = max(largest, load(x + i));
  if (rest) largest = max(largest, load_part(x + whole, rest, -INFINITY));
  const float m = max_lanes(largest);
  if (m == -INFINITY) {
    for (int64_t i = 0; i < n; ++i) y[i] = 0.0f;
    return -INFINITY;
  }
  const vf zero = {};
  vf total = zero;
  const auto weight = [&](vf v) { return v == -INFINITY ? zero : exp(v - m); };
  for (int64_t i = 0; i < whole; i += lanes) {
    const vf e = weight(load(x + i));
    total += e;
    store(y + i, e);
  }
  if (rest) {
    const vf e = weight(load_part(x + whole, rest, -INFINITY));
    total += e;
    store_part(y + whole, e, rest);
  }
  const float sum = sum_lanes(total), scale = 1.0f / sum;
  for (int64_t i = 0; i < whole; i += lanes) store(y + i, load(y + i) * scale);
  for (int64_t i = whole; i < n; ++i) y[i] *= scale;
  return m + logf(sum);
}

void softmax_backward(const float* y, const float* dy, int64_t n, float* dx) {
  const float dot = sum_over(n, [&](auto at, int64_t i) { return at(y + i) * at(dy + i); });
  each(n, [&](auto at, int64_t i) { at.put(dx + i, at(y + i) * (at(dy + i) - dot)); });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
