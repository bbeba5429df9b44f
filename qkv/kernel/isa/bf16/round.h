// Floats rounded to bf16, to the nearest, ties to even.
#pragma once

#include "qkv/kernel/isa/bf16_bits.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

// Two vectors of bf16, the first in the lower half.
typedef uint16_t two_vs __attribute__((vector_size(lanes * 4)));

#if defined(__AVX512F__)
QKV_INLINE vs rounded(vf x) { return (vs)(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x))); }
QKV_INLINE two_vs rounded_both(vf low, vf high) {
  return (two_vs)_mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low));
}
// The same in VNNI layout: unit i holds element i of low, in its low half, and of high.
QKV_INLINE vf side_by_side(two_vs both) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return reinterpret_cast<vf>(_mm512_maskz_permutexvar_epi16(0xffffffffu, order, reinterpret_cast<__m512i>(both)));
}
QKV_INLINE vs lower(two_vs both) {
  const __m512i x = reinterpret_cast<__m512i>(both);
  return reinterpret_cast<vs>(__builtin_shufflevector(x, x, 0, 1, 2, 3));
}
QKV_INLINE vs upper(two_vs both) {
  const __m512i x = reinterpret_cast<__m512i>(both);
  return reinterpret_cast<vs>(__builtin_shufflevector(x, x, 4, 5, 6, 7));
}

// The first n lanes (n < lanes) of memory; the other lanes are zero.
QKV_INLINE vs load_shorts_part(const uint16_t* p, int n) {
  return reinterpret_cast<vs>(_mm256_maskz_loadu_epi16(first_lanes(n), p));
}
QKV_INLINE void store_shorts_part(uint16_t* p, vs x, int n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), reinterpret_cast<__m256i>(x));
}
#elif defined(__aarch64__)
QKV_INLINE two_vs rounded_both(vf low, vf high) {
  const bfloat16x8_t first = vcvtq_low_bf16_f32(reinterpret_cast<float32x4_t>(low));
  return reinterpret_cast<two_vs>(vcvtq_high_bf16_f32(first, reinterpret_cast<float32x4_t>(high)));
}
QKV_INLINE vs rounded(vf x) { return reinterpret_cast<vs>(vcvt_bf16_f32(reinterpret_cast<float32x4_t>(x))); }
QKV_INLINE vs lower(two_vs both) { return __builtin_shufflevector(both, both, 0, 1, 2, 3); }
QKV_INLINE vs upper(two_vs both) { return __builtin_shufflevector(both, both, 4, 5, 6, 7); }
QKV_INLINE vf side_by_side(two_vs both) {
  return reinterpret_cast<vf>(__builtin_shufflevector(both, both, 0, 4, 1, 5, 2, 6, 3, 7));
}
QKV_INLINE vs load_shorts_part(const uint16_t* p, int n) {
  vs x = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return x;
}
QKV_INLINE void store_shorts_part(uint16_t* p, vs x, int n) {
  for (int i = 0; i < n; ++i) p[i] = x[i];
}
#endif

QKV_INLINE void store_shorts(uint16_t* p, vs x) { *reinterpret_cast<vs_unaligned*>(p) = x; }
QKV_INLINE void store_rounded(uint16_t* p, vf x) { store_shorts(p, rounded(x)); }

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
