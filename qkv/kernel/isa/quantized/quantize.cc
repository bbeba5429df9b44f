// Activations as bytes with scales (quantized_kernels.h).
#include "qkv/kernel/isa/quantized/columns.h"
#include "qkv/kernel/isa/quantized/functions.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

constexpr int vectors = min_group / lanes;  // of 16 numbers
typedef int8_t bytes_of_lanes __attribute__((vector_size(lanes)));

// Integers that fit bytes. GCC narrows vectors of AVX2 number by number.
QKV_INLINE void store_bytes(int8_t* to, vi x) {
#if defined(__AVX2__) && !defined(__AVX512F__)
  const auto all = reinterpret_cast<__m256i>(x);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packs_epi16(words, words));
#else
  const bytes_of_lanes narrow = __builtin_convertvector(x, bytes_of_lanes);
  __builtin_memcpy(to, &narrow, sizeof(narrow));
#endif
}

constexpr int32_t infinity_bits = 0x7f800000;
constexpr float smallest = 0x1p-100f;  // numbers below it are zero, so that 127 / maximum is finite

// Numbers [first, first + lanes) of a row; those after its end are zero.
QKV_INLINE vf numbers_at(const float* x, int64_t first, int64_t count) {
  if (first + lanes <= count) return load(x + first);
  return first < count ? load_part(x + first, static_cast<int>(count - first)) : vf{};
}

// The largest magnitude. As bits: they are ordered as magnitudes are, and NaN is above infinity.
QKV_INLINE int32_t magnitude_bits(const float* x, int64_t count) {
  vi largest = {};
  for (int64_t i = 0; i < count; i += lanes) {
    const vi bits = bits_of(numbers_at(x, i, count)) & 0x7fffffff;
    largest = bits > largest ? bits : largest;
  }
  return across_lanes(largest, [](vi a, vi b) { return a > b ? a : b; });
}

}  // namespace

void quantize(const float* x, int64_t count, int64_t depth, int group, int zero, int8_t* numbers, float* scales,
              int32_t* offsets, float* sums, int64_t group_stride) {
  const int64_t groups = depth / group;
  for (int64_t first = 0; first < count; first += depth) {
    const int64_t left = count - first, present = left < depth ? left : depth;
    const float* const from = x + first;
    const int32_t bits = magnitude_bits(from, present);
    float largest;
    __builtin_memcpy(&largest, &bits, sizeof(largest));
    const bool is_finite = bits < infinity_bits, is_zero = largest < smallest;
    const float scale = !is_finite ? __builtin_nanf("") : is_zero ? 0.0f : largest / 127.0f;
    const float factor = !is_finite || is_zero ? 0.0f : 127.0f / largest;
    *scales = scale;
    scales += group_stride;
    for (int64_t g = 0; g < groups; ++g) {
      vi total = {};
      for (int64_t i = g * group; i < (g + 1) * group; i += lanes) {
        vf v = numbers_at(from, i, present);
        if (!is_finite) v = vf{};
        const vi q = nearest_integers(v * factor);
        total += q;
        store_bytes(numbers + first + i, q);
      }
      const int32_t sum = across_lanes(total, [](vi a, vi b) { return a + b; });
      *offsets = -zero * sum;
      *sums = static_cast<float>(sum) * scale;
      offsets += group_stride, sums += group_stride;
    }
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
