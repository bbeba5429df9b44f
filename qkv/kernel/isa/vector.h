// The vector type of an instruction set: the only difference between the builds of one kernel.
//
// Arithmetic, comparison and selection are GCC's and clang's vector extensions; intrinsics are used only for the
// rest. kernel/isa/*.cc use nothing outside this namespace: an inline function of the standard library compiled
// here with AVX-512 flags could be the copy that the linker keeps for the whole program.
#pragma once

#include <stdint.h>
#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define QKV_INLINE static inline __attribute__((always_inline))

namespace qkv::kernel::QKV_ISA_NAMESPACE {

#if defined(__AVX512F__)
constexpr int lanes = 16;
#elif defined(__AVX2__)
constexpr int lanes = 8;
#else
constexpr int lanes = 4;
#endif

#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int registers = 32;
#else
constexpr int registers = 16;
#endif

typedef float vf __attribute__((vector_size(lanes * 4)));
typedef int32_t vi __attribute__((vector_size(lanes * 4)));
typedef uint32_t vu __attribute__((vector_size(lanes * 4)));
typedef float vf_unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
typedef int32_t vi_unaligned __attribute__((vector_size(lanes * 4), aligned(4), may_alias));

#if defined(__AVX512F__)
constexpr vi lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#elif defined(__AVX2__)
constexpr vi lane_numbers = {0, 1, 2, 3, 4, 5, 6, 7};
#else
constexpr vi lane_numbers = {0, 1, 2, 3};
#endif

QKV_INLINE vf load(const float* p) { return *reinterpret_cast<const vf_unaligned*>(p); }
QKV_INLINE void store(float* p, vf v) { *reinterpret_cast<vf_unaligned*>(p) = v; }
QKV_INLINE vf broadcast(float x) { return x - vf{}; }
QKV_INLINE vi broadcast_i(int32_t x) { return x - vi{}; }
// b where one of the two is NaN: a > b ? a : b, of which compilers make two instructions where a is a constant.
QKV_INLINE vf max(vf a, vf b) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(
      _mm512_maskz_max_ps(0xffff, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<vf>(_mm256_max_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#else
  return a > b ? a : b;
#endif
}
QKV_INLINE vf min(vf a, vf b) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(
      _mm512_maskz_min_ps(0xffff, reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b)));
#elif defined(__AVX2__)
  return reinterpret_cast<vf>(_mm256_min_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b)));
#else
  return a < b ? a : b;
#endif
}
QKV_INLINE float max(float a, float b) { return a > b ? a : b; }
QKV_INLINE vi bits_of(vf v) { return reinterpret_cast<vi>(v); }
QKV_INLINE vf from_bits(vi v) { return reinterpret_cast<vf>(v); }

// The first n lanes (n < lanes) of memory; the other lanes are `rest`.
#if defined(__AVX512F__)
QKV_INLINE __mmask16 first_lanes(int n) { return static_cast<__mmask16>((1u << n) - 1); }
QKV_INLINE vf load_part(const float* p, int n, float rest = 0.0f) {
  return reinterpret_cast<vf>(_mm512_mask_loadu_ps(reinterpret_cast<__m512>(broadcast(rest)), first_lanes(n), p));
}
QKV_INLINE void store_part(float* p, vf v, int n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), reinterpret_cast<__m512>(v));
}
#elif defined(__AVX2__)
QKV_INLINE vf load_part(const float* p, int n, float rest = 0.0f) {
  const vi wanted = lane_numbers < n;
  const vf v = reinterpret_cast<vf>(_mm256_maskload_ps(p, reinterpret_cast<__m256i>(wanted)));
  return wanted ? v : broadcast(rest);
}
QKV_INLINE void store_part(float* p, vf v, int n) {
  _mm256_maskstore_ps(p, reinterpret_cast<__m256i>(lane_numbers < n), reinterpret_cast<__m256>(v));
}
#else
QKV_INLINE vf load_part(const float* p, int n, float rest = 0.0f) {
  float x[lanes];
  for (int i = 0; i < lanes; ++i) x[i] = i < n ? p[i] : rest;
  return load(x);
}
QKV_INLINE void store_part(float* p, vf v, int n) {
  float x[lanes];
  store(x, v);
  for (int i = 0; i < n; ++i) p[i] = x[i];
}
#endif

// Interleaves the elements of the first halves of a and b, or of the second.
#if defined(__AVX512F__)
template <class V>
QKV_INLINE V zip_low(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
}
template <class V>
QKV_INLINE V zip_high(V a, V b) {
  return __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
}
#elif defined(__AVX2__)
template <class V>
QKV_INLINE V zip_low(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}
template <class V>
QKV_INLINE V zip_high(V a, V b) {
  return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}
#else
template <class V>
QKV_INLINE V zip_low(V a, V b) {
  return __builtin_shufflevector(a, b, 0, 4, 1, 5);
}
template <class V>
QKV_INLINE V zip_high(V a, V b) {
  return __builtin_shufflevector(a, b, 2, 6, 3, 7);
}
#endif

// A vector from two halves in memory; and zip_low, zip_high within each half.
#if defined(__AVX512F__)
QKV_INLINE vf load_halves(const char* low, const char* high) {
  const auto half = [](const char* at) { return _mm256_loadu_pd(reinterpret_cast<const double*>(at)); };
  return reinterpret_cast<vf>(_mm512_maskz_insertf64x4(0xff, _mm512_castpd256_pd512(half(low)), half(high), 1));
}
QKV_INLINE vf zip_low_of_halves(vf a, vf b) {
  return __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 8, 24, 9, 25, 10, 26, 11, 27);
}
QKV_INLINE vf zip_high_of_halves(vf a, vf b) {
  return __builtin_shufflevector(a, b, 4, 20, 5, 21, 6, 22, 7, 23, 12, 28, 13, 29, 14, 30, 15, 31);
}
#elif defined(__AVX2__)
QKV_INLINE vf load_halves(const char* low, const char* high) {
  const auto half = [](const char* at) { return _mm_loadu_ps(reinterpret_cast<const float*>(at)); };
  return reinterpret_cast<vf>(_mm256_insertf128_ps(_mm256_castps128_ps256(half(low)), half(high), 1));
}
QKV_INLINE vf zip_low_of_halves(vf a, vf b) { return __builtin_shufflevector(a, b, 0, 8, 1, 9, 4, 12, 5, 13); }
QKV_INLINE vf zip_high_of_halves(vf a, vf b) { return __builtin_shufflevector(a, b, 2, 10, 3, 11, 6, 14, 7, 15); }
#endif

// The rounds of a transpose: each interleaves vectors i and i + count / 2.
template <int count, class Low, class High>
QKV_INLINE void zip_rounds(vf (&x)[count], Low low, High high) {
#pragma GCC unroll 4
  for (int round = 1; round < count; round *= 2) {
    vf zipped[count];
#pragma GCC unroll 8
    for (int i = 0; i < count / 2; ++i) {
      zipped[2 * i] = low(x[i], x[i + count / 2]);
      zipped[2 * i + 1] = high(x[i], x[i + count / 2]);
    }
#pragma GCC unroll 16
    for (int i = 0; i < count; ++i) x[i] = zipped[i];
  }
}

// Transposes `lanes` vectors as a square matrix.
QKV_INLINE void transpose(vf (&square)[lanes]) { zip_rounds(square, zip_low<vf>, zip_high<vf>); }

// The transpose of a square in memory at any address, rows `stride` bytes apart. Halves of two rows are loaded into one
// vector, which saves a round, and no shuffle crosses halves, which is faster on AVX2.
QKV_INLINE void load_transposed(const char* in, int64_t stride, vf (&square)[lanes]) {
#if defined(__AVX2__)
  constexpr int half = lanes / 2;
#pragma GCC unroll 2
  for (int c = 0; c < lanes; c += half) {
    vf x[half];
    const char* const at = in + c * int64_t{4};
#pragma GCC unroll 8
    for (int r = 0; r < half; ++r) x[r] = load_halves(at + r * stride, at + (r + half) * stride);
    zip_rounds(x, zip_low_of_halves, zip_high_of_halves);
#pragma GCC unroll 8
    for (int r = 0; r < half; ++r) square[c + r] = x[r];
  }
#else
  for (int r = 0; r < lanes; ++r) __builtin_memcpy(&square[r], in + r * stride, sizeof(vf));
  transpose(square);
#endif
}
QKV_INLINE void load_transposed(const float* in, int64_t stride, vf (&square)[lanes]) {
  load_transposed(reinterpret_cast<const char*>(in), stride * 4, square);
}

// Lane i is across_lanes(v[i], combine), in the same order: transpose() with the rows of every round combined.
template <class V, class Combine>
QKV_INLINE V across_lanes_of_each(V (&v)[lanes], Combine combine) {
#pragma GCC unroll 4
  for (int half = lanes / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) v[i] = combine(zip_low(v[i], v[i + half]), zip_high(v[i], v[i + half]));
  return v[0];
}
QKV_INLINE vf sums_of_lanes(vf (&v)[lanes]) {  // lane i is sum_lanes(v[i])
  return across_lanes_of_each(v, [](vf a, vf b) { return a + b; });
}

QKV_INLINE vf sqrt(vf v) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(_mm512_maskz_sqrt_ps(0xffff, reinterpret_cast<__m512>(v)));
#elif defined(__AVX2__)
  return reinterpret_cast<vf>(_mm256_sqrt_ps(reinterpret_cast<__m256>(v)));
#elif defined(__x86_64__)
  return reinterpret_cast<vf>(_mm_sqrt_ps(reinterpret_cast<__m128>(v)));
#elif defined(__aarch64__)
  return reinterpret_cast<vf>(vsqrtq_f32(reinterpret_cast<float32x4_t>(v)));
#else
  for (int i = 0; i < lanes; ++i) v[i] = __builtin_sqrtf(v[i]);
  return v;
#endif
}

// a b + c, rounded once (twice on generic). Compilers fuse a product and a sum by themselves, but of two products in a sum they
// choose either, and they do not always fuse what load_part() reads.
QKV_INLINE vf fused(vf a, vf b, vf c) {
#if defined(__AVX512F__)
  return reinterpret_cast<vf>(
      _mm512_fmadd_ps(reinterpret_cast<__m512>(a), reinterpret_cast<__m512>(b), reinterpret_cast<__m512>(c)));
#elif defined(__AVX2__)
  return reinterpret_cast<vf>(
      _mm256_fmadd_ps(reinterpret_cast<__m256>(a), reinterpret_cast<__m256>(b), reinterpret_cast<__m256>(c)));
#elif defined(__aarch64__)
  return reinterpret_cast<vf>(vfmaq_f32(reinterpret_cast<float32x4_t>(c), reinterpret_cast<float32x4_t>(a),
                                        reinterpret_cast<float32x4_t>(b)));
#else
  return a * b + c;
#endif
}

// Lane i is that of lane i ^ step.
template <int step, class V>
QKV_INLINE V swapped_lanes(V v) {
#if defined(__AVX512F__)
  return __builtin_shufflevector(v, v, 0 ^ step, 1 ^ step, 2 ^ step, 3 ^ step, 4 ^ step, 5 ^ step, 6 ^ step,
                                 7 ^ step, 8 ^ step, 9 ^ step, 10 ^ step, 11 ^ step, 12 ^ step, 13 ^ step,
                                 14 ^ step, 15 ^ step);
#elif defined(__AVX2__)
  return __builtin_shufflevector(v, v, 0 ^ step, 1 ^ step, 2 ^ step, 3 ^ step, 4 ^ step, 5 ^ step, 6 ^ step,
                                 7 ^ step);
#else
  return __builtin_shufflevector(v, v, 0 ^ step, 1 ^ step, 2 ^ step, 3 ^ step);
#endif
}

// Lane 0 of a tree over the lanes of a vector of floats or integers: x[l] = combine(x[l], x[l + half]), until one is left.
template <class V, class Combine>
QKV_INLINE auto across_lanes(V v, Combine combine) {
  if constexpr (lanes > 8) v = combine(v, swapped_lanes<8>(v));
  if constexpr (lanes > 4) v = combine(v, swapped_lanes<4>(v));
  v = combine(v, swapped_lanes<2>(v));
  v = combine(v, swapped_lanes<1>(v));
  return v[0];
}

// Sums across lanes are made of 16 partial sums, or a multiple of it, on every instruction set: as vectors, that is
// sums_vectors of them. Then a tree halves their number, x[l] += x[l + half], until one is left.
constexpr int partial_sums = 16, sums_vectors = partial_sums / lanes;

template <int count>
QKV_INLINE vf sum_vectors(vf (&v)[count]) {  // the steps of the tree that add whole vectors
#pragma GCC unroll 8
  for (int half = count / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i) v[i] += v[i + half];
  return v[0];
}
QKV_INLINE float sum_lanes(vf v) {  // the steps of the tree within a vector
  return across_lanes(v, [](vf a, vf b) { return a + b; });
}
template <int count>
QKV_INLINE float sum_all(vf (&v)[count]) {
  return sum_lanes(sum_vectors(v));
}
QKV_INLINE float max_lanes(vf v) {
  return across_lanes(v, [](vf a, vf b) { return max(a, b); });
}

// 2^f for f in [-1/2, 1/2]: a minimax polynomial of degree 5 that is exact at 0 (relative error 9.2e-8, with
// rounding 1.7e-7).
QKV_INLINE vf exp2_polynomial(vf f) {
  vf p = broadcast(0.00132647273f);
  p = p * f + 0.00967151299f;
  p = p * f + 0.0555073358f;
  p = p * f + 0.240222424f;
  p = p * f + 0.693147004f;
  return p * f + 1.0f;
}

// 2^x for x in [-126, 127] or NaN, any number for others: x = n + f with f in [-1/2, 1/2], 2^n by adding to the exponent of 2^f.
QKV_INLINE vf exp2_in_range(vf x) {
  const vf magic = broadcast(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits
  const vf shifted = x + magic, p = exp2_polynomial(x - (shifted - magic));
  const vu n = reinterpret_cast<vu>(shifted) << 23;  // the low bits of the magic sum, as an exponent
  return reinterpret_cast<vf>(reinterpret_cast<vu>(p) + n);
}

// 2^x. Below -126 the result is 2^-126, above 127 it is 2^127: callers set to zero what must be zero.
QKV_INLINE vf exp2(vf x) {
  x = max(broadcast(-126.0f), x);  // in this order NaN stays NaN
  return exp2_in_range(min(broadcast(127.0f), x));
}
#if defined(__AVX512F__)
QKV_INLINE __m512 nearest(__m512 x) {
  return _mm512_maskz_roundscale_ps(0xffff, x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#endif

// 2^x for x <= 0, and zero (not a denormal, not 2^-126) for results below 2^-126: masked pairs have weight 0.
QKV_INLINE vf exp2_or_zero(vf x) {
#if defined(__AVX512F__)
  const __m512 y = reinterpret_cast<__m512>(x), n = nearest(y);
  const __mmask16 normal = _mm512_cmp_ps_mask(y, _mm512_set1_ps(-126.0f), _CMP_NLT_UQ);  // NaN stays NaN
  const vf f = x - reinterpret_cast<vf>(n);
  return reinterpret_cast<vf>(_mm512_maskz_scalef_ps(normal, reinterpret_cast<__m512>(exp2_polynomial(f)), n));
#else
  const vf zero = {};
  return x < -126.0f ? zero : exp2_in_range(x);
#endif
}
constexpr float log2_e = 1.44269504088896341f;
QKV_INLINE vf exp(vf x) { return exp2(x * log2_e); }

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
