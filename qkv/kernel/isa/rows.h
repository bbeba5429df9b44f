// Loops over rows by vectors. A kernel is a function of the index of a vector; whole vectors and the partial vector
// at the end of a row are computed by the same lines:
//
//     each(n, [&](auto at, int64_t i) { at.put(y + i, max(zero, at(x + i))); });
#pragma once

#include "qkv/kernel/isa/bf16_bits.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

struct Whole {
  __attribute__((always_inline)) vf operator()(const float* p) const { return load(p); }
  __attribute__((always_inline)) vf operator()(const uint16_t* p) const { return load_as_float(p); }
  __attribute__((always_inline)) void put(float* p, vf v) const { store(p, v); }
  __attribute__((always_inline)) vf only(vf v) const { return v; }
};

struct Part {
  int count;
  __attribute__((always_inline)) vf operator()(const float* p) const { return load_part(p, count); }
  __attribute__((always_inline)) vf operator()(const uint16_t* p) const { return load_part_as_float(p, count); }
  __attribute__((always_inline)) void put(float* p, vf v) const { store_part(p, v, count); }
  // Zero in the lanes past the end of the row.
  __attribute__((always_inline)) vf only(vf v) const { return lane_numbers < count ? v : vf{}; }
};

template <class F>
QKV_INLINE void each(int64_t n, F body) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Whole{}, i);
  if (i < n) body(Part{static_cast<int>(n - i)}, i);
}

// The sum of term(at, i) over a row, in `count` partial sums: sum l adds the terms l, l + count, ..., and a tree
// adds the sums. So the order depends on n alone, on every instruction set. `count` is a multiple of 16; more sums
// let more additions overlap, if terms are cheap. Past the end of the row at() gives zeros; a term that is not
// zero there must pass through at.only().
template <int count = 32, class F>
QKV_INLINE float sum_over(int64_t n, F term) {
  constexpr int vectors = count / lanes;
  vf sum[vectors] = {};
  int64_t i = 0;
  for (; i + count <= n; i += count)
#pragma GCC unroll 16
    for (int k = 0; k < vectors; ++k) sum[k] += term(Whole{}, i + k * lanes);
  if (i == n) return sum_all(sum);
  vf last[vectors];  // not in registers: the index varies
  for (int k = 0; k < vectors; ++k) last[k] = sum[k];
  int k = 0;
  for (; i + lanes <= n; i += lanes) last[k++] += term(Whole{}, i);
  if (i < n) last[k] += term(Part{static_cast<int>(n - i)}, i);
  return sum_all(last);
}

// The largest of x (n) and `start`. NaN is ignored.
QKV_INLINE float max_over(const float* x, int64_t n, float start) {
  constexpr int at_once = 4;  // so that maxima overlap
  vf several[at_once];
  for (vf& v : several) v = broadcast(start);
  int64_t i = 0;
  for (; i + at_once * lanes <= n; i += at_once * lanes)
#pragma GCC unroll 4
    for (int k = 0; k < at_once; ++k) several[k] = max(load(x + i + k * lanes), several[k]);
  vf largest = max(max(several[0], several[1]), max(several[2], several[3]));
  for (; i + lanes <= n; i += lanes) largest = max(load(x + i), largest);
  if (i < n) largest = max(load_part(x + i, static_cast<int>(n - i), start), largest);
  return max_lanes(largest);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
