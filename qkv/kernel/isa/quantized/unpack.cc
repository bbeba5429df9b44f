// Weights of fewer than 8 bits as bytes, with their scales as floats (BlockLayout in quantized_kernels.h).
#include "qkv/kernel/isa/quantized/columns.h"
#include "qkv/kernel/isa/quantized/functions.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

QKV_INLINE vu load_words(const uint8_t* p) { return *reinterpret_cast<const vu_bytes*>(p); }
QKV_INLINE void store_words(uint8_t* p, vu x) { *reinterpret_cast<vu_bytes*>(p) = x; }

constexpr uint32_t in_every_byte(uint32_t mask) { return mask * 0x01010101u; }

// Step s of a plane of `bits` bits; s is known when the loop is unrolled.
template <int bits>
QKV_INLINE vu bits_of_step(const uint8_t* plane, int s) {
  constexpr int steps = 8 / bits;
  return load_words(plane + s / steps * step_bytes) >> (s % steps * bits) & in_every_byte((1u << bits) - 1);
}

template <int low, int high>
void unpack_planes(const BlockLayout& layout, const uint8_t* block, uint8_t* to) {
  const uint8_t *low_plane = block + layout.low_at(), *high_plane = block + layout.high_at();
  for (int first = 0; first < layout.steps(); first += 8) {
#pragma GCC unroll 8
    for (int s = 0; s < 8; ++s)
#pragma GCC unroll 4
      for (int p = 0; p < parts; ++p) {
        vu x = bits_of_step<low>(low_plane + p * part_bytes, s);
        if constexpr (high > 0) x |= bits_of_step<high>(high_plane + p * part_bytes, s) << low;
        store_words(to + s * step_bytes + p * part_bytes, x);
      }
    low_plane += step_bytes * low, high_plane += step_bytes * high, to += 8 * step_bytes;
  }
}

// The numbers of a table of 16, plus 128.
void look_up(const int8_t* table, int steps, uint8_t* numbers) {
#if defined(__AVX512F__)
  const __m512i rows =
      _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  for (int s = 0; s < steps; ++s) {
    const __m512i index = _mm512_loadu_si512(numbers + s * step_bytes);
    const __m512i found = _mm512_xor_si512(_mm512_shuffle_epi8(rows, index), _mm512_set1_epi8(-128));
    _mm512_storeu_si512(numbers + s * step_bytes, found);
  }
#elif defined(__AVX2__)
  const __m256i rows = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table)));
  for (int i = 0; i < steps * step_bytes; i += 32) {
    __m256i* const at = reinterpret_cast<__m256i*>(numbers + i);
    const __m256i found = _mm256_shuffle_epi8(rows, _mm256_loadu_si256(at));
    _mm256_storeu_si256(at, _mm256_xor_si256(found, _mm256_set1_epi8(-128)));
  }
#else
  for (int i = 0; i < steps * step_bytes; ++i) numbers[i] = static_cast<uint8_t>(table[numbers[i] & 15] + 128);
#endif
}

// Integer factors of a scale, as floats.
template <class Byte>
QKV_INLINE vf factors(const uint8_t* p) {
  typedef Byte bytes __attribute__((vector_size(lanes)));
  bytes x;
  __builtin_memcpy(&x, p, sizeof(x));
  return __builtin_convertvector(x, vf);
}

void unpack_scales(const BlockLayout& layout, const uint8_t* block, float* scales, float* minimums) {
#pragma GCC unroll 4
  for (int p = 0; p < parts; ++p) {
    const vf d = load_halves_as_floats(block + p * lanes * 2);
    const vf m = layout.has_minimum ? -load_halves_as_floats(block + layout.minimum_at() + p * lanes * 2) : vf{};
    for (int g = 0; g < layout.groups(); ++g) {
      const int64_t at = g * quantized_width + p * lanes;
      store(scales + at, layout.group_scales ? d * factors<int8_t>(block + layout.scales_at() + at) : d);
      if (layout.has_minimum)
        store(minimums + at, layout.group_scales ? m * factors<uint8_t>(block + layout.minimums_at() + at) : m);
    }
  }
}

void unpack_numbers(const BlockLayout& layout, const uint8_t* block, uint8_t* to) {
  switch (layout.low * 10 + layout.high) {
    case 80: __builtin_memcpy(to, block + layout.low_at(), static_cast<size_t>(layout.steps() * step_bytes)); break;
    case 40: unpack_planes<4, 0>(layout, block, to); break;
    case 41: unpack_planes<4, 1>(layout, block, to); break;
    case 42: unpack_planes<4, 2>(layout, block, to); break;
    case 20: unpack_planes<2, 0>(layout, block, to); break;
    default: unpack_planes<2, 1>(layout, block, to); break;
  }
  if (layout.table) look_up(layout.table, layout.steps(), to);
}

}  // namespace

void unpack(const BlockLayout& layout, const uint8_t* blocks, int64_t count, const UnpackedChunk& to) {
  const int64_t step_count = layout.steps(), group_count = layout.groups();
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t* const block = blocks + i * layout.bytes();
    unpack_numbers(layout, block, to.numbers + i * step_count * step_bytes);
    const int64_t at = i * group_count * quantized_width;
    unpack_scales(layout, block, to.scales + at, to.minimums + at);
  }
}

QuantizedKernels quantized_kernels() {
  return {
      .quantize = quantize, .multiply_int8 = multiply_int8, .unpack = unpack, .multiply_blocks = multiply_blocks};
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
