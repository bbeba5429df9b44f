// Walking rows by vectors. A kernel says what happens at a position; whole vectors and the part that is left over
// at the end of a row run the same lines:
//
//     each(n, [&](auto at, int64_t i) { at.put(y + i, max(zero, at(x + i))); });
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

struct Whole {
  __attribute__((always_inline)) vf operator()(const float* p) const { return load(p); }
  __attribute__((always_inline)) void put(float* p, vf v) const { store(p, v); }
  __attribute__((always_inline)) vf only(vf v) const { return v; }
};

struct Part {
  int count;
  __attribute__((always_inline)) vf operator()(const float* p) const { return load_part(p, count); }
  __attribute__((always_inline)) void put(float* p, vf v) const { store_part(p, v, count); }
  // Zero in the lanes that do not exist.
  __attribute__((always_inline)) vf only(vf v) const { return lane_numbers < count ? v : vf{}; }
};

template <class F>
QKV_INLINE void each(int64_t n, F body) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Whole{}, i);
  if (i < n) body(Part{static_cast<int>(n - i)}, i);
}

// The sum of term(at, i) over a row: four running vectors, then a tree. The order depends on n alone. Where the row
// has ended, at() gives zeros; terms that are not zero there pass through at.only().
template <class F>
QKV_INLINE float sum_over(int64_t n, F term) {
  vf sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes)
    for (int k = 0; k < 4; ++k) sum[k] += term(Whole{}, i + k * lanes);
  for (; i + lanes <= n; i += lanes) sum[0] += term(Whole{}, i);
  if (i < n) sum[1] += term(Part{static_cast<int>(n - i)}, i);
  return sum_lanes((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
