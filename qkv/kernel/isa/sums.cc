// Long sums in double, in 32 partial sums on every instruction set: element i belongs to sum i % 32.
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

constexpr int half = lanes / 2, count = 32, vectors = count / half;
typedef float vh_unaligned __attribute__((vector_size(half * 4), aligned(4), may_alias));
typedef double vd __attribute__((vector_size(half * 8)));

QKV_INLINE vd load_double(const float* p) {
  return __builtin_convertvector(*reinterpret_cast<const vh_unaligned*>(p), vd);
}

template <class F>
QKV_INLINE double sum_of(const float* x, int64_t n, F term) {
  vd sum[vectors] = {};
  const auto add_block = [&](const float* block) {
#pragma GCC unroll 16
    for (int k = 0; k < vectors; ++k) sum[k] += term(load_double(block + k * half));
  };
  int64_t i = 0;
  for (; i + count <= n; i += count) add_block(x + i);
  if (i < n) {
    float rest[count] = {};
    for (int k = 0; i < n; ++i, ++k) rest[k] = x[i];
    add_block(rest);
  }
  double total[count];
  __builtin_memcpy(total, sum, sizeof total);
  for (int step = count / 2; step > 0; step /= 2)
    for (int k = 0; k < step; ++k) total[k] += total[k + step];
  return total[0];
}

}  // namespace

double sum(const float* x, int64_t n) {
  return sum_of(x, n, [](auto v) { return v; });
}

double sum_of_squares(const float* x, int64_t n) {
  return sum_of(x, n, [](auto v) { return v * v; });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
