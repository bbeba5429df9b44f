// Sixteen columns side by side, as vectors of this instruction set, and the products of bytes.
//
//     sum = dot(sum, weights_of_step<wide>(numbers), a);    // sum[n] += products of bytes 4n .. 4n + 3 by those of a
#pragma once

#include "qkv/kernel/isa/vector.h"
#include "qkv/kernel/quantized_kernels.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

constexpr int parts = quantized_width / lanes;  // vectors of 16 columns
constexpr int part_bytes = lanes * step_depth;

typedef uint8_t vb __attribute__((vector_size(lanes * 4)));
typedef uint8_t vb_unaligned __attribute__((vector_size(lanes * 4), aligned(1), may_alias));
typedef uint32_t vu_bytes __attribute__((vector_size(lanes * 4), aligned(1), may_alias));

// Two numbers of 16 bits for each column: products of pairs of bytes, or sums of these.
typedef int16_t vi16 __attribute__((vector_size(lanes * 4)));

QKV_INLINE int32_t four_bytes(const int8_t* a) {
  int32_t x;
  __builtin_memcpy(&x, a, sizeof(x));
  return x;
}
QKV_INLINE vi load_i(const int32_t* p) { return *reinterpret_cast<const vi_unaligned*>(p); }
QKV_INLINE vb load_bytes(const uint8_t* p) { return *reinterpret_cast<const vb_unaligned*>(p); }

// a b + c, rounded once, on generic too.
QKV_INLINE vf fused_multiply_add(vf a, vf b, vf c) {
#if defined(__FMA__) || defined(__aarch64__)
  return fused(a, b, c);
#else
  for (int i = 0; i < lanes; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#endif
}

// Rounded to nearest, ties to even.
QKV_INLINE vi nearest_integers(vf x) {
#if defined(__AVX512F__)
  return reinterpret_cast<vi>(_mm512_maskz_cvtps_epi32(0xffff, reinterpret_cast<__m512>(x)));
#elif defined(__AVX2__)
  return reinterpret_cast<vi>(_mm256_cvtps_epi32(reinterpret_cast<__m256>(x)));
#elif defined(__x86_64__)
  return reinterpret_cast<vi>(_mm_cvtps_epi32(reinterpret_cast<__m128>(x)));
#elif defined(__aarch64__)
  return reinterpret_cast<vi>(vcvtnq_s32_f32(reinterpret_cast<float32x4_t>(x)));
#else
  vi out;
  for (int i = 0; i < lanes; ++i) out[i] = static_cast<int32_t>(__builtin_rintf(x[i]));
  return out;
#endif
}

// Halves as floats, exact. Infinities and NaN are not expected: scales of weights are finite.
QKV_INLINE vf load_halves_as_floats(const uint8_t* p) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(
      _mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#elif defined(__AVX2__)
  return reinterpret_cast<vf>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#elif defined(__aarch64__)
  return reinterpret_cast<vf>(vcvt_f32_f16(vreinterpret_f16_u8(vld1_u8(p))));
#else
  vf out;
  for (int i = 0; i < lanes; ++i) {
    uint16_t half;
    __builtin_memcpy(&half, p + 2 * i, sizeof(half));
    const uint32_t exponent = half >> 10 & 31u, fraction = half & 0x3ffu, sign = (half & 0x8000u) << 16;
    float x = static_cast<float>(fraction) * 0x1p-24f;  // of a subnormal half
    if (exponent != 0) {
      const uint32_t bits = (exponent + 112) << 23 | fraction << 13;
      __builtin_memcpy(&x, &bits, sizeof(x));
    }
    uint32_t bits;
    __builtin_memcpy(&bits, &x, sizeof(x));
    bits |= sign;
    __builtin_memcpy(&x, &bits, sizeof(x));
    out[i] = x;
  }
  return out;
#endif
}

// Numbers of a step below 64, in which form dot() takes them; and of 8 bits, where the sign is that of number - 128.
struct NarrowWeights {
  vb w;
};
QKV_INLINE NarrowWeights narrow_weights(vb x) { return {x}; }

#if defined(__ARM_FEATURE_DOTPROD)
// Both factors have a sign.
constexpr bool wide_needs_offset = false;
struct WideWeights {
  vb w;
};
QKV_INLINE WideWeights wide_weights(vb x) { return {x ^ static_cast<uint8_t>(128)}; }
#elif defined(__AVX512VNNI__) || defined(__AVXVNNI__) || !defined(__AVX2__)
constexpr bool wide_needs_offset = true;  // dot() takes wide numbers as they are, without a sign
struct WideWeights {
  vb w;
};
QKV_INLINE WideWeights wide_weights(vb x) { return {x}; }
#else
// The magnitude of a wide number is unsigned, and its sign goes to a, which has no -128: no pair of products leaves 16 bits.
constexpr bool wide_needs_offset = false;
struct WideWeights {
  vb w, magnitude;
};
#endif

#if defined(__AVX2__) && !defined(__AVX512VNNI__) && !defined(__AVXVNNI__)
// dot() takes three instructions: of narrow numbers, pairs of products are added in 16 bits, and widened once for several steps.
constexpr bool adds_pairs = true;
// Keeps the compiler from computing what comes later before x, which would be more at a time than registers hold.
template <class Vector>
QKV_INLINE Vector in_order(Vector x) {
  asm("" : "+v"(x));
  return x;
}
#else
constexpr bool adds_pairs = false;
#endif

#if defined(__AVX512VNNI__)
QKV_INLINE vi dot(vi sum, NarrowWeights w, int32_t a) {
  return reinterpret_cast<vi>(
      _mm512_dpbusd_epi32(reinterpret_cast<__m512i>(sum), reinterpret_cast<__m512i>(w.w), _mm512_set1_epi32(a)));
}
QKV_INLINE vi dot(vi sum, WideWeights w, int32_t a) { return dot(sum, NarrowWeights{w.w}, a); }
#elif defined(__AVXVNNI__)
QKV_INLINE vi dot(vi sum, NarrowWeights w, int32_t a) {
  return reinterpret_cast<vi>(_mm256_dpbusd_avx_epi32(reinterpret_cast<__m256i>(sum),
                                                      reinterpret_cast<__m256i>(w.w), _mm256_set1_epi32(a)));
}
QKV_INLINE vi dot(vi sum, WideWeights w, int32_t a) { return dot(sum, NarrowWeights{w.w}, a); }
#elif defined(__AVX512F__)
QKV_INLINE vi16 products_of_pairs(NarrowWeights w, int32_t a) {
  return reinterpret_cast<vi16>(_mm512_maddubs_epi16(reinterpret_cast<__m512i>(w.w), _mm512_set1_epi32(a)));
}
QKV_INLINE vi widen_and_add(vi sum, vi16 pairs) {
  return sum + reinterpret_cast<vi>(_mm512_madd_epi16(reinterpret_cast<__m512i>(pairs), _mm512_set1_epi16(1)));
}
QKV_INLINE vi add_products(vi sum, __m512i w, __m512i a) {
  return in_order(widen_and_add(sum, reinterpret_cast<vi16>(_mm512_maddubs_epi16(w, a))));
}
QKV_INLINE vi dot(vi sum, NarrowWeights w, int32_t a) {
  return add_products(sum, reinterpret_cast<__m512i>(w.w), _mm512_set1_epi32(a));
}
QKV_INLINE WideWeights wide_weights(vb x) {
  const vb w = x ^ static_cast<uint8_t>(128);
  return {w, reinterpret_cast<vb>(_mm512_maskz_abs_epi8(~0ull, reinterpret_cast<__m512i>(w)))};
}
QKV_INLINE vi dot(vi sum, WideWeights w, int32_t a) {
  const __m512i numbers = _mm512_set1_epi32(a);
  const __mmask64 negative = _mm512_movepi8_mask(reinterpret_cast<__m512i>(w.w));
  return add_products(sum, reinterpret_cast<__m512i>(w.magnitude),
                      _mm512_mask_sub_epi8(numbers, negative, _mm512_setzero_si512(), numbers));
}
#elif defined(__AVX2__)
QKV_INLINE vi16 products_of_pairs(NarrowWeights w, int32_t a) {
  return reinterpret_cast<vi16>(_mm256_maddubs_epi16(reinterpret_cast<__m256i>(w.w), _mm256_set1_epi32(a)));
}
QKV_INLINE vi widen_and_add(vi sum, vi16 pairs) {
  return sum + reinterpret_cast<vi>(_mm256_madd_epi16(reinterpret_cast<__m256i>(pairs), _mm256_set1_epi16(1)));
}
QKV_INLINE vi add_products(vi sum, __m256i w, __m256i a) {
  return in_order(widen_and_add(sum, reinterpret_cast<vi16>(_mm256_maddubs_epi16(w, a))));
}
QKV_INLINE vi dot(vi sum, NarrowWeights w, int32_t a) {
  return add_products(sum, reinterpret_cast<__m256i>(w.w), _mm256_set1_epi32(a));
}
QKV_INLINE WideWeights wide_weights(vb x) {
  const vb w = x ^ static_cast<uint8_t>(128);
  return {w, reinterpret_cast<vb>(_mm256_abs_epi8(reinterpret_cast<__m256i>(w)))};
}
QKV_INLINE vi dot(vi sum, WideWeights w, int32_t a) {
  return add_products(sum, reinterpret_cast<__m256i>(w.magnitude),
                      _mm256_sign_epi8(_mm256_set1_epi32(a), reinterpret_cast<__m256i>(w.w)));
}
#elif defined(__ARM_FEATURE_DOTPROD)
QKV_INLINE vi dot(vi sum, NarrowWeights w, int32_t a) {
  return reinterpret_cast<vi>(vdotq_s32(reinterpret_cast<int32x4_t>(sum), reinterpret_cast<int8x16_t>(w.w),
                                        vreinterpretq_s8_s32(vdupq_n_s32(a))));
}
QKV_INLINE vi dot(vi sum, WideWeights w, int32_t a) { return dot(sum, NarrowWeights{w.w}, a); }
#else
QKV_INLINE vi dot(vi sum, NarrowWeights w, int32_t a) {
  const vu numbers = reinterpret_cast<vu>(w.w);
#pragma GCC unroll 4
  for (int k = 0; k < step_depth; ++k)
    sum += reinterpret_cast<vi>(numbers >> (8 * k) & 255u) * broadcast_i(static_cast<int8_t>(a >> (8 * k)));
  return sum;
}
QKV_INLINE vi dot(vi sum, WideWeights w, int32_t a) { return dot(sum, NarrowWeights{w.w}, a); }
#endif

template <bool wide>
QKV_INLINE auto weights_of_step(vb numbers) {
  if constexpr (wide)
    return wide_weights(numbers);
  else
    return narrow_weights(numbers);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
