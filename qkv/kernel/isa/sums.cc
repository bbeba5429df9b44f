// Long sums in double: half a vector of floats becomes a vector of doubles.
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

constexpr int half = lanes / 2;
typedef float vh_unaligned __attribute__((vector_size(half * 4), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(half * 8)));

QKV_INLINE vd load_double(const float* p) {
  return __builtin_convertvector(*reinterpret_cast<const vh_unaligned*>(p), vd);
}

template <class F>
QKV_INLINE double sum_of(const float* x, int64_t n, F term) {
  vd sum[4] = {};
  int64_t i = 0;
  for (; i + 4 * half <= n; i += 4 * half)
    for (int k = 0; k < 4; ++k) sum[k] += term(load_double(x + i + k * half));
  const vd all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  double total = 0.0;
  for (int k = 0; k < half; ++k) total += all[k];
  for (; i < n; ++i) total += term(static_cast<double>(x[i]));
  return total;
}

}  // namespace

double sum(const float* x, int64_t n) {
  return sum_of(x, n, [](auto v) { return v; });
}

double sum_of_squares(const float* x, int64_t n) {
  return sum_of(x, n, [](auto v) { return v * v; });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
