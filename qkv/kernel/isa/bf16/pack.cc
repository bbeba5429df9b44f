// Packing for products of bf16: two rows side by side.

#include "qkv/kernel/isa/bf16/pairs.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

typedef uint16_t vs __attribute__((vector_size(lanes * 2)));
typedef uint16_t vs_unaligned __attribute__((vector_size(lanes * 2), aligned(2), may_alias));

QKV_INLINE vs load_shorts(const uint16_t* p) { return *reinterpret_cast<const vs_unaligned*>(p); }
QKV_INLINE vs load_shorts_part(const uint16_t* p, int n) {
  return reinterpret_cast<vs>(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
QKV_INLINE vf side_by_side(vs low, vs high) {
  return from_bits(__builtin_convertvector(low, vi) | (__builtin_convertvector(high, vi) << 16));
}

void interleave(const uint16_t* in, int64_t in_stride, int64_t rows, int64_t columns, float* out, int64_t width) {
  const vs nothing = {};
  for (int64_t r = 0; r < rows; r += 2) {
    const uint16_t *low = in + r * in_stride, *high = low + in_stride;
    const bool both = r + 1 < rows;
    float* to = out + r / 2 * width;
    int64_t c = 0;
    for (; c + lanes <= columns; c += lanes)
      store(to + c, side_by_side(load_shorts(low + c), both ? load_shorts(high + c) : nothing));
    if (c < columns) {
      const int n = static_cast<int>(columns - c);
      store(to + c, side_by_side(load_shorts_part(low + c, n), both ? load_shorts_part(high + c, n) : nothing));
      c += lanes;
    }
    for (; c < width; c += lanes) store(to + c, vf{});
  }
}

QKV_INLINE vs rounded(vf x) { return (vs)(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x))); }

void interleave_rounded(const float* in, int64_t rows, int64_t width, float* out) {
  for (int64_t r = 0; r < rows; r += 2) {
    const float *low = in + r * width, *high = low + width;
    float* to = out + r / 2 * width;
    if (r + 1 < rows) {
      for (int64_t i = 0; i < width; i += lanes) {
        // Both rows in one vector, the first in its low half; then every unit takes one of each.
        const __m512i both = (__m512i)_mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(load(high + i)),
                                                          reinterpret_cast<__m512>(load(low + i)));
        const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7,
                                               22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
        store(to + i, reinterpret_cast<vf>(_mm512_permutexvar_epi16(order, both)));
      }
    } else {
      for (int64_t i = 0; i < width; i += lanes) store(to + i, side_by_side(rounded(load(low + i)), vs{}));
    }
  }
}

void round(const float* in, int64_t n, uint16_t* out) {
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) *reinterpret_cast<vs_unaligned*>(out + i) = rounded(load(in + i));
  if (i < n) {
    const int left = static_cast<int>(n - i);
    _mm256_mask_storeu_epi16(out + i, first_lanes(left), (__m256i)rounded(load_part(in + i, left)));
  }
}

}  // namespace

const PairKernels& pair_kernels() {
  static const PairKernels all = {.products = pair_products(),
                                  .columns_as_rows = columns_as_rows,
                                  .interleave = interleave,
                                  .interleave_rounded = interleave_rounded,
                                  .round = round};
  return all;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
