#include "qkv/kernel/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::kernel {
namespace {

constexpr int chains = 12;  // independent sums: more than latency times units needs
constexpr int64_t rounds = 200'000;

// Sums that stay in registers, for which the loops over them must be unrolled. What a processor cannot do, it is not asked.
template <class Vector>
[[gnu::always_inline]] inline double multiply_adds() {
  Vector sum[chains], x{}, y{};
  for (size_t i = 0; i < sizeof(Vector) / sizeof(float); ++i) x[i] = 0.999f, y[i] = 1e-3f;
  for (int c = 0; c < chains; ++c)
    sum[c] = y * static_cast<float>(c);  // no two alike: equal chains would be merged
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (Vector& s : sum) s = s * x + y;
  double total = 0.0;
  for (const Vector& s : sum) total += static_cast<double>(s[0]);
  return total;
}

typedef float v4 __attribute__((vector_size(16)));
double f32_generic() { return multiply_adds<v4>(); }
#if defined(__x86_64__)
typedef float v8 __attribute__((vector_size(32)));
typedef float v16 __attribute__((vector_size(64)));
typedef int32_t int32_16 __attribute__((vector_size(64)));
__attribute__((target("avx2,fma"), noinline)) double f32_avx2() { return multiply_adds<v8>(); }
__attribute__((target("avx512f"), noinline)) double f32_avx512() { return multiply_adds<v16>(); }
__attribute__((target("avx512f,avx512bf16"), noinline)) double bf16_avx512() {
  __m512 sum[chains];
  const __m512bh x = (__m512bh)_mm512_set1_epi32(0x3f003f00), y = (__m512bh)_mm512_set1_epi32(0x3c003c00);
  for (int c = 0; c < chains; ++c) sum[c] = _mm512_set1_ps(static_cast<float>(c));
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (__m512& s : sum) s = _mm512_dpbf16_ps(s, x, y);
  double total = 0.0;
  for (const __m512& s : sum) total += static_cast<double>(_mm512_cvtss_f32(s));
  return total;
}
// Without the instructions of VNNI, products of bytes are added in pairs of 16 bits, and these in pairs of 32.
__attribute__((target("avx2"), noinline)) double int8_avx2() {
  __m256i sum[chains];
  const __m256i x = _mm256_set1_epi8(3), y = _mm256_set1_epi8(5), ones = _mm256_set1_epi16(1);
  for (int c = 0; c < chains; ++c) sum[c] = _mm256_set1_epi32(c);
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (__m256i& s : sum)
      s = _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_maddubs_epi16(_mm256_xor_si256(x, s), y), ones));
  double total = 0.0;
  for (const __m256i& s : sum) total += _mm256_cvtsi256_si32(s);
  return total;
}
// Of numbers of 4 bits, 8 sums of pairs fit 16 bits: to widen them is left out.
__attribute__((target("avx2"), noinline)) double narrow_avx2() {
  __m256i sum[chains];
  __m256i x = _mm256_set1_epi8(3);
  const __m256i y = _mm256_set1_epi8(5);
  for (int c = 0; c < chains; ++c) sum[c] = _mm256_set1_epi32(c);
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (__m256i& s : sum) {
      asm("" : "+x"(x));  // else the product would be computed once
      s = _mm256_add_epi16(s, _mm256_maddubs_epi16(x, y));
    }
  double total = 0.0;
  for (const __m256i& s : sum) total += _mm256_cvtsi256_si32(s);
  return total;
}
__attribute__((target("avx2,avxvnni"), noinline)) double int8_avx2_vnni() {
  __m256i sum[chains];
  const __m256i x = _mm256_set1_epi8(3), y = _mm256_set1_epi8(5);
  for (int c = 0; c < chains; ++c) sum[c] = _mm256_set1_epi32(c);
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (__m256i& s : sum) s = _mm256_dpbusd_avx_epi32(s, x, y);
  double total = 0.0;
  for (const __m256i& s : sum) total += _mm256_cvtsi256_si32(s);
  return total;
}
__attribute__((target("avx512f,avx512vnni"), noinline)) double int8_avx512() {
  __m512i sum[chains];
  const __m512i x = _mm512_set1_epi8(3), y = _mm512_set1_epi8(5);
  for (int c = 0; c < chains; ++c) sum[c] = _mm512_set1_epi32(c);
  for (int64_t r = 0; r < rounds; ++r)
#pragma GCC unroll 12
    for (__m512i& s : sum) s = _mm512_dpbusd_epi32(s, x, y);
  double total = 0.0;
  for (const __m512i& s : sum) total += reinterpret_cast<const int32_16&>(s)[0];
  return total;
}

// Tiles of zeros: the units take as long for any numbers.
void configure_amx() {
  struct alignas(64) Configuration {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
  } const config;
  asm volatile("ldtilecfg %0" : : "m"(config));
}
__attribute__((noinline)) double bf16_amx() {
  configure_amx();
  for (int64_t r = 0; r < rounds; ++r)
    asm volatile(
        "tdpbf16ps %tmm5, %tmm4, %tmm0\n\t"
        "tdpbf16ps %tmm5, %tmm4, %tmm1\n\t"
        "tdpbf16ps %tmm5, %tmm4, %tmm2\n\t"
        "tdpbf16ps %tmm5, %tmm4, %tmm3");
  asm volatile("tilerelease");
  return 0.0;
}
__attribute__((noinline)) double int8_amx() {
  configure_amx();
  for (int64_t r = 0; r < rounds; ++r)
    asm volatile(
        "tdpbusd %tmm5, %tmm4, %tmm0\n\t"
        "tdpbusd %tmm5, %tmm4, %tmm1\n\t"
        "tdpbusd %tmm5, %tmm4, %tmm2\n\t"
        "tdpbusd %tmm5, %tmm4, %tmm3");
  asm volatile("tilerelease");
  return 0.0;
}
#endif

// flops: of one round of the loop. An attempt takes less than a millisecond, and threads that were just started may share a core
// for some of them: 20 alone have found half of the peak.
double rate(double (*loop)(), int flops) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::duration<double> enough(0.2);
  const int count = threads();
  double best = 0.0;
  std::chrono::duration<double> all(0.0);
  for (int attempt = 0; attempt < 20 || all < enough; ++attempt) {
    volatile double sink = 0.0;
    const auto start = Clock::now();
    parallel_for(count, [&](int64_t) { sink = loop(); });
    const std::chrono::duration<double> time = Clock::now() - start;
    best = std::max(best, 1e-9 * flops * static_cast<double>(rounds) * count / time.count());
    all += time;
  }
  return best;
}

}  // namespace

double peak_f32() {
#if defined(__x86_64__)
  if (cpu_has("avx512")) return rate(f32_avx512, 32 * chains);
  if (cpu_has("avx2")) return rate(f32_avx2, 16 * chains);
#endif
  return rate(f32_generic, 8 * chains);
}

double peak_bf16() {
#if defined(__x86_64__)
  if (cpu_has("amx")) return rate(bf16_amx, 4 * 16 * 16 * 64);
  if (cpu_has("avx512_bf16")) return rate(bf16_avx512, 64 * chains);
#endif
  return 0.0;
}

double peak_int8() {
#if defined(__x86_64__)
  if (cpu_has("amx")) return rate(int8_amx, 4 * 16 * 16 * 128);
  if (cpu_has("avx512_vnni")) return rate(int8_avx512, 128 * chains);
  if (cpu_has("avx2_vnni")) return rate(int8_avx2_vnni, 64 * chains);
  if (cpu_has("avx2")) return rate(int8_avx2, 64 * chains);
#endif
  return 0.0;
}

double peak_narrow() {
#if defined(__x86_64__)
  if (cpu_has("avx2") && !cpu_has("avx2_vnni") && !cpu_has("avx512_vnni")) return rate(narrow_avx2, 64 * chains);
#endif
  return peak_int8();
}

}  // namespace qkv::kernel
