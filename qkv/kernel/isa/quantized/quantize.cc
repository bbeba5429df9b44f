// Activations as bytes with scales (quantized_kernels.h).
#include "qkv/kernel/block_layout.h"
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

// Magnitudes as bits: they are ordered as magnitudes are, and NaN is above infinity.
QKV_INLINE vi magnitude_bits(vf x) { return bits_of(x) & 0x7fffffff; }
QKV_INLINE vi larger(vi a, vi b) { return a > b ? a : b; }
QKV_INLINE vi sum(vi a, vi b) { return a + b; }

// The largest magnitude.
QKV_INLINE int32_t magnitude_bits(const float* x, int64_t count) {
  vi largest = {};
  for (int64_t i = 0; i < count; i += lanes) largest = larger(largest, magnitude_bits(numbers_at(x, i, count)));
  return across_lanes(largest, larger);
}

// As many units as a vector has lanes: what is across the lanes of a unit is computed for all of them at once. False, and
// nothing is written, if a number is not finite.
template <int groups>  // of a unit
bool quantize_units(const float* x, int zero, int8_t* numbers, float* scales, int32_t* offsets, float* sums,
                    int64_t group_stride) {
  constexpr int of_unit = unit_depth / lanes, of_group = of_unit / groups;  // vectors
  vi largest[lanes];
  for (int u = 0; u < lanes; ++u) {
    largest[u] = vi{};
#pragma GCC unroll 8
    for (int i = 0; i < of_unit; ++i)
      largest[u] = larger(largest[u], magnitude_bits(load(x + u * unit_depth + i * lanes)));
  }
  const vi bits = across_lanes_of_each(largest, larger);
  if (across_lanes(bits, larger) >= infinity_bits) return false;
  const vf magnitude = reinterpret_cast<vf>(bits);
  const vi is_zero = magnitude < broadcast(smallest);
  const vf scale = is_zero ? vf{} : magnitude / 127.0f, factor = is_zero ? vf{} : 127.0f / magnitude;
  vi totals[groups][lanes];
  for (int u = 0; u < lanes; ++u) {
    const vf of_u = broadcast(factor[u]);
#pragma GCC unroll 8
    for (int g = 0; g < groups; ++g) {
      totals[g][u] = vi{};
#pragma GCC unroll 8
      for (int i = g * of_group; i < (g + 1) * of_group; ++i) {
        const vi q = nearest_integers(load(x + u * unit_depth + i * lanes) * of_u);
        totals[g][u] += q;
        store_bytes(numbers + u * unit_depth + i * lanes, q);
      }
    }
  }
  for (int u = 0; u < lanes; ++u) scales[u * group_stride] = scale[u];
  for (int g = 0; g < groups; ++g) {
    const vi total = across_lanes_of_each(totals[g], sum), offset = -zero * total;
    const vf scaled = __builtin_convertvector(total, vf) * scale;
    for (int u = 0; u < lanes; ++u) {
      offsets[(u * groups + g) * group_stride] = offset[u];
      sums[(u * groups + g) * group_stride] = scaled[u];
    }
  }
  return true;
}

}  // namespace

void quantize(const float* x, int64_t count, int64_t depth, int group, int zero, int8_t* numbers, float* scales,
              int32_t* offsets, float* sums, int64_t group_stride) {
  const int64_t groups = depth / group;
  constexpr int64_t together = lanes * unit_depth;
  for (int64_t first = 0; first < count; first += depth) {
    while (depth == unit_depth && count - first >= together) {
      const auto quantize_all = groups == 1 ? quantize_units<1> : quantize_units<2>;
      if (!quantize_all(x + first, zero, numbers + first, scales, offsets, sums, group_stride)) break;
      first += together;
      scales += lanes * group_stride;
      offsets += lanes * groups * group_stride, sums += lanes * groups * group_stride;
    }
    if (first == count) break;
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
      const int32_t of_group = across_lanes(total, sum);
      *offsets = -zero * of_group;
      *sums = static_cast<float>(of_group) * scale;
      offsets += group_stride, sums += group_stride;
    }
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
