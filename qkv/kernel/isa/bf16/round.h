// Floats rounded to bf16, to the nearest, ties to even.
#pragma once

#include "qkv/kernel/isa/bf16_bits.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

QKV_INLINE vs rounded(vf x) { return (vs)(_mm512_cvtneps_pbh(reinterpret_cast<__m512>(x))); }
QKV_INLINE void store_rounded(uint16_t* p, vf x) { *reinterpret_cast<vs_unaligned*>(p) = rounded(x); }

// Two vectors rounded into one: low fills its lower half.
QKV_INLINE __m512i rounded_both(vf low, vf high) {
  return (__m512i)_mm512_cvtne2ps_pbh(reinterpret_cast<__m512>(high), reinterpret_cast<__m512>(low));
}
// The same in VNNI layout: unit i holds element i of low, in its low half, and of high.
QKV_INLINE vf side_by_side(__m512i both) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  return reinterpret_cast<vf>(_mm512_maskz_permutexvar_epi16(0xffffffffu, order, both));
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
