// bf16 and int8 read as floats, on every instruction set: a bf16 is the upper half of a float.
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

typedef uint16_t vs __attribute__((vector_size(lanes * 2)));
typedef uint16_t vs_unaligned __attribute__((vector_size(lanes * 2), aligned(2), may_alias));

QKV_INLINE vf widened(vs x) { return from_bits(__builtin_convertvector(x, vi) << 16); }

QKV_INLINE vf load_as_float(const float* p) { return load(p); }
QKV_INLINE vf load_as_float(const uint16_t* p) { return widened(*reinterpret_cast<const vs_unaligned*>(p)); }
QKV_INLINE vf load_part_as_float(const float* p, int n) { return load_part(p, n); }
QKV_INLINE vf load_part_as_float(const uint16_t* p, int n) {
  vs x = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return widened(x);
}

QKV_INLINE vf load_as_float(const int8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  return __builtin_convertvector(reinterpret_cast<vi>(_mm512_maskz_cvtepi8_epi32(0xffff, bytes)), vf);
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  return __builtin_convertvector(reinterpret_cast<vi>(_mm256_cvtepi8_epi32(bytes)), vf);
#else
  vf x;
  for (int i = 0; i < lanes; ++i) x[i] = p[i];
  return x;
#endif
}
QKV_INLINE vf load_part_as_float(const int8_t* p, int n) {
  vf x = {};
  for (int i = 0; i < n; ++i) x[i] = p[i];
  return x;
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
