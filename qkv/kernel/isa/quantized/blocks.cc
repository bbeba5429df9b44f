// Products of blocks of few bits (block_layout.h), compiled for each layout.
//
// Both products, of few rows and of many, have the same bits: sums of a group are exact, and its floats are one step of the
// chain of multiply-adds of the element.
#include "qkv/kernel/isa/ahead.h"
#include "qkv/kernel/isa/quantized/functions.h"
#include "qkv/kernel/isa/quantized/row_pairs.h"
#include "qkv/kernel/isa/quantized/tiles.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

constexpr int unit_steps = unit_depth / step_depth;
constexpr int unrolled_steps =
    lanes == 4 ? 1 : unit_steps;  // more would take minutes to compile where vectors are short
constexpr int few_rows_of_tile = lanes == 4 ? 1 : few_rows;

constexpr uint32_t in_every_byte(uint32_t mask) { return mask * 0x01010101u; }

// Step s of a plane of `bits` bits.
template <int bits>
QKV_INLINE vu bits_of_step(const uint8_t* plane, int s) {
  constexpr int steps = 8 / bits;
  const vu words = *reinterpret_cast<const vu_bytes*>(plane + s / steps * step_bytes);
  if constexpr (bits == 8)
    return words;
  else
    return words >> (s % steps * bits) & in_every_byte((1u << bits) - 1);
}

// The numbers of the table of iq4_nl, plus 128.
QKV_INLINE vb look_up(vb index) {
#if defined(__AVX512F__)
  const __m512i rows =
      _mm512_maskz_broadcast_i32x4(0xffff, _mm_loadu_si128(reinterpret_cast<const __m128i*>(iq4_nl_table)));
  return reinterpret_cast<vb>(_mm512_shuffle_epi8(rows, reinterpret_cast<__m512i>(index))) ^
         static_cast<uint8_t>(128);
#elif defined(__AVX2__)
  const __m256i rows = _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(iq4_nl_table)));
  return reinterpret_cast<vb>(_mm256_shuffle_epi8(rows, reinterpret_cast<__m256i>(index))) ^
         static_cast<uint8_t>(128);
#elif defined(__aarch64__)
  const uint8x16_t table = vreinterpretq_u8_s8(vld1q_s8(iq4_nl_table));
  return reinterpret_cast<vb>(vqtbl1q_u8(table, reinterpret_cast<uint8x16_t>(index))) ^ static_cast<uint8_t>(128);
#else
  for (size_t i = 0; i < sizeof(vb); ++i) index[i] = static_cast<uint8_t>(iq4_nl_table[index[i] & 15] + 128);
  return index;
#endif
}

// Part p of step s of unit u of a block.
template <BlockLayout layout>
QKV_INLINE vb numbers_of_step(const uint8_t* block, int u, int s, int p) {
  vu x = bits_of_step<layout.low>(block + layout.low_at() + u * step_bytes * layout.low + p * part_bytes, s);
  if constexpr (layout.high > 0)
    x |= bits_of_step<layout.high>(block + layout.high_at() + u * step_bytes * layout.high + p * part_bytes, s)
         << layout.low;
  if constexpr (layout.has_table) return look_up(reinterpret_cast<vb>(x));
  return reinterpret_cast<vb>(x);
}

// Integer factors of a scale, as floats.
template <bool is_signed>
QKV_INLINE vf factors(const uint8_t* p) {
#if defined(__AVX512F__)
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
  const __m512i x =
      is_signed ? _mm512_maskz_cvtepi8_epi32(0xffff, bytes) : _mm512_maskz_cvtepu8_epi32(0xffff, bytes);
  return __builtin_convertvector(reinterpret_cast<vi>(x), vf);
#elif defined(__AVX2__)
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
  const __m256i x = is_signed ? _mm256_cvtepi8_epi32(bytes) : _mm256_cvtepu8_epi32(bytes);
  return __builtin_convertvector(reinterpret_cast<vi>(x), vf);
#else
  vf out;
  for (int i = 0; i < lanes; ++i) out[i] = is_signed ? static_cast<int8_t>(p[i]) : p[i];
  return out;
#endif
}

// d and minimum of a block, the latter negated; and those of its groups.
template <BlockLayout layout>
struct BlockScales {
  vf d[parts], minimum[parts];
};
template <BlockLayout layout>
QKV_INLINE BlockScales<layout> scales_of_block(const uint8_t* block) {
  BlockScales<layout> out = {};
#pragma GCC unroll 4
  for (int p = 0; p < parts; ++p) {
    out.d[p] = load_halves_as_floats(block + p * lanes * 2);
    if constexpr (layout.has_minimum)
      out.minimum[p] = -load_halves_as_floats(block + layout.minimum_at() + p * lanes * 2);
  }
  return out;
}
template <BlockLayout layout>
QKV_INLINE vf scale_of_group(const uint8_t* block, const BlockScales<layout>& scales, int64_t g, int p) {
  if constexpr (!layout.group_scales) return scales.d[p];
  return scales.d[p] * factors<true>(block + layout.scales_at() + g * quantized_width + p * lanes);
}
template <BlockLayout layout>
QKV_INLINE vf minimum_of_group(const uint8_t* block, const BlockScales<layout>& scales, int64_t g, int p) {
  if constexpr (!layout.group_scales) return scales.minimum[p];
  return scales.minimum[p] * factors<false>(block + layout.minimums_at() + g * quantized_width + p * lanes);
}

// Steps whose sums of pairs fit 16 bits, of numbers of this many bits and activations up to 127; used where adds_pairs.
[[maybe_unused]] constexpr int steps_of_pairs(int bits) { return 32767 / (2 * 127 * ((1 << bits) - 1)); }

// Adds the products of a group to sums.
template <BlockLayout layout, int rows, int vectors, class Numbers>
QKV_INLINE void add_steps_of_group(const int8_t* x, int64_t stride, Numbers numbers, vi (&sums)[rows][vectors]) {
  constexpr int steps = layout.group / step_depth;
  if constexpr (adds_pairs && !layout.is_wide()) {
    constexpr int max_run = steps_of_pairs(layout.low + layout.high), run = max_run < steps ? max_run : steps;
#pragma GCC unroll unrolled_steps
    for (int first = 0; first < steps; first += run) {
      vi16 pairs[rows][vectors];
#pragma GCC unroll unrolled_steps
      for (int s = 0; s < run; ++s)
#pragma GCC unroll 4
        for (int p = 0; p < vectors; ++p) {
          const auto w = narrow_weights(numbers(first + s, p));
#pragma GCC unroll 8
          for (int r = 0; r < rows; ++r) {
            const vi16 products = products_of_pairs(w, four_bytes(x + r * stride + (first + s) * step_depth));
            pairs[r][p] = in_order(s == 0 ? products : pairs[r][p] + products);
          }
        }
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
        for (int p = 0; p < vectors; ++p) sums[r][p] = widen_and_add(sums[r][p], pairs[r][p]);
    }
  } else if constexpr (multiplies_row_pairs && rows % 2 == 0) {
    RowPairs<rows> pairs;
    for (int s = 0; s < steps; s += 2) {
      const auto of_step = [&](int i, int p) __attribute__((always_inline)) {
        return weights_of_step<layout.is_wide()>(numbers(s + i, p));
      };
      add_two_steps(x + s * step_depth, stride, of_step, pairs);
    }
    add_row_pairs(pairs, sums);
  } else {
#pragma GCC unroll unrolled_steps
    for (int s = 0; s < steps; ++s) {
      decltype(weights_of_step<layout.is_wide()>(vb())) w[vectors];
#pragma GCC unroll 4
      for (int p = 0; p < vectors; ++p) w[p] = weights_of_step<layout.is_wide()>(numbers(s, p));
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) {
        const int32_t four = four_bytes(x + r * stride + s * step_depth);
#pragma GCC unroll 4
        for (int p = 0; p < vectors; ++p) sums[r][p] = dot(sums[r][p], w[p], four);
      }
    }
  }
}

// A group of the rows from some row on.
struct GroupOfRows {
  GroupOfRows(const QuantizedRows& a, int64_t row)  // the first group
      : numbers(a.numbers + row * a.stride),
        scales(a.scales + row),
        offsets(a.offsets + row),
        sums(a.sums + row),
        stride(a.stride),
        group_stride(a.group_stride) {}
  void go_to_next(int64_t group) {
    numbers += group;
    offsets += group_stride;
    sums += group_stride;
  }
  void go_to_next_unit() { scales += group_stride; }  // after its groups

  const int8_t* numbers;
  const float* scales;
  const int32_t* offsets;
  const float* sums;
  int64_t stride, group_stride;
};

// Adds a group. numbers(s, p): part p of its step s.
template <BlockLayout layout, int rows, int vectors, class Numbers, class Scale, class Minimum>
QKV_INLINE void add_group(const GroupOfRows& a, Numbers numbers, Scale scale, Minimum minimum,
                          vf (&total)[rows][vectors]) {
  constexpr bool needs_offset = layout.zero != 0 && (!layout.is_wide() || wide_needs_offset);
  vi sums[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < vectors; ++p) sums[r][p] = needs_offset ? broadcast_i(a.offsets[r]) : vi{};
  add_steps_of_group<layout>(a.numbers, a.stride, numbers, sums);
#pragma GCC unroll 4
  for (int p = 0; p < vectors; ++p) {
    const vf w_scale = scale(p);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
      total[r][p] = fused_multiply_add(__builtin_convertvector(sums[r][p], vf) * w_scale, broadcast(a.scales[r]),
                                       total[r][p]);
    if constexpr (layout.has_minimum) {
      const vf w_minimum = minimum(p);
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) total[r][p] = fused_multiply_add(w_minimum, broadcast(a.sums[r]), total[r][p]);
    }
  }
}

// The time is that of memory: the first tile fetches what it reads.
template <BlockLayout layout, int rows>
void few_tile(const PanelOfBlocksProduct& p, int64_t row) {
  constexpr int units = layout.block / unit_depth, groups = unit_depth / layout.group;  // of a block, of a unit
  constexpr int64_t unit_bytes = layout.bytes() / units;
  const uint8_t* block = p.panel;
  vf total[rows][parts] = {};
  GroupOfRows rows_of_a(p.a, row);
  for (int64_t b = 0; b < p.blocks; ++b, block += layout.bytes()) {
    const BlockScales<layout> scales = scales_of_block<layout>(block);
    for (int u = 0; u < units; ++u) {
      if (row == 0) fetch_near<unit_bytes>(block + u * unit_bytes);
#pragma GCC unroll 2
      for (int i = 0; i < groups; ++i) {
        const int64_t group = int64_t{u} * groups + i;
        add_group<layout>(
            rows_of_a,
            [&](int s, int part) __attribute__((always_inline)) {
              return numbers_of_step<layout>(block, u, i * (unit_steps / groups) + s, part);
            },
            [&](int part)
                __attribute__((always_inline)) { return scale_of_group<layout>(block, scales, group, part); },
            [&](int part)
                __attribute__((always_inline)) { return minimum_of_group<layout>(block, scales, group, part); },
            total);
        rows_of_a.go_to_next(layout.group);
      }
      rows_of_a.go_to_next_unit();
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) write_row(p.result, row + r, total[r]);
}

// row_bytes: of the blocks of the next chunk, that a tile fetches for each of its rows in each unit.
template <BlockLayout layout, int rows, int panels>
void chunk_tile(const ChunkProduct& p, int64_t row, int64_t row_bytes) {
  constexpr int vectors = panels * parts, width = panels * quantized_width, groups = unit_depth / layout.group;
  vf total[rows][vectors];
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) total[r][v] = p.first ? vf{} : load(p.totals + (row + r) * width + v * lanes);
  const int64_t units = p.blocks * (layout.block / unit_depth), bytes_of_unit = rows * row_bytes;
  const uint8_t* ahead = p.next + row * units * row_bytes;
  GroupOfRows rows_of_a(p.a, row);
  const uint8_t* numbers = p.chunk.numbers;
  const float *scales = p.chunk.scales, *minimums = p.chunk.minimums;
  for (int64_t u = 0; u < units; ++u, ahead += bytes_of_unit) {
    for (int64_t at = 0; at < bytes_of_unit; at += cache_line)
#pragma GCC unroll 2
      for (int i = 0; i < panels; ++i) __builtin_prefetch(ahead + i * p.next_stride + at, 0, 2);
#pragma GCC unroll 2
    for (int i = 0; i < groups; ++i) {
      const auto of_group = [&](const float* all, int v) __attribute__((always_inline)) {
        return load(all + v / parts * chunk_scales + v % parts * lanes);
      };
      add_group<layout>(
          rows_of_a,
          [&](int s, int v) __attribute__((always_inline)) {
            return load_bytes(numbers + v / parts * chunk_bytes + s * step_bytes + v % parts * part_bytes);
          },
          [&](int v) __attribute__((always_inline)) { return of_group(scales, v); },
          [&](int v) __attribute__((always_inline)) { return of_group(minimums, v); }, total);
      rows_of_a.go_to_next(layout.group);
      numbers += layout.group * quantized_width;
      scales += quantized_width, minimums += quantized_width;
    }
    rows_of_a.go_to_next_unit();
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    if (p.last) {
      write_row(p.result, row + r, total[r]);
      continue;
    }
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) store(p.totals + (row + r) * width + v * lanes, total[r][v]);
  }
}

template <BlockLayout layout>
void multiply_few(const PanelOfBlocksProduct& p) {
  for_each_row_tile<few_rows_of_tile>(p.rows, [&]<int rows>(int64_t row) { few_tile<layout, rows>(p, row); });
}

// Of two panels, the sums and totals of eight rows would not fit the registers.
template <BlockLayout layout, int panels>
void multiply_panels(const ChunkProduct& p) {
  constexpr int tile_rows = panels == 2 ? 6 : max_rows;
  const int64_t row_bytes = layout.bytes() / (layout.block / unit_depth * p.rows) + 1;
  for_each_row_tile<tile_rows>(p.rows,
                               [&]<int rows>(int64_t row) { chunk_tile<layout, rows, panels>(p, row, row_bytes); });
}

template <BlockLayout layout>
void multiply_chunk(const ChunkProduct& p) {
  if (p.panels == 1) {
    multiply_panels<layout, 1>(p);
  } else if constexpr (panels_of_tile == 2) {
    multiply_panels<layout, 2>(p);
  }
}

template <BlockLayout layout>
void unpack(const uint8_t* blocks, int64_t count, const UnpackedChunk& to) {
  UnpackedChunk out = to;
  for (const uint8_t *block = blocks, *end = blocks + count * layout.bytes(); block != end;
       block += layout.bytes()) {
    for (int u = 0; u < layout.block / unit_depth; ++u)
#pragma GCC unroll unrolled_steps
      for (int s = 0; s < unit_steps; ++s)
#pragma GCC unroll 4
        for (int p = 0; p < parts; ++p)
          *reinterpret_cast<vb_unaligned*>(out.numbers + (u * unit_steps + s) * step_bytes + p * part_bytes) =
              numbers_of_step<layout>(block, u, s, p);
    const BlockScales<layout> scales = scales_of_block<layout>(block);
    for (int64_t g = 0; g < layout.groups(); ++g)
#pragma GCC unroll 4
      for (int p = 0; p < parts; ++p) {
        store(out.scales + g * quantized_width + p * lanes, scale_of_group<layout>(block, scales, g, p));
        if constexpr (layout.has_minimum)
          store(out.minimums + g * quantized_width + p * lanes, minimum_of_group<layout>(block, scales, g, p));
      }
    out.numbers += layout.block * quantized_width;
    out.scales += layout.groups() * quantized_width, out.minimums += layout.groups() * quantized_width;
  }
}

// The numbers 0 .. count - 1, as std::make_index_sequence has them.
template <size_t... i>
struct IndexList {};
template <size_t count, size_t... i>
struct MakeIndices : MakeIndices<count - 1, count - 1, i...> {};
template <size_t... i>
struct MakeIndices<0, i...> {
  using type = IndexList<i...>;
};

template <size_t... i>
struct KernelsOf {
  static constexpr BlockKernels all[] = {{.multiply_few = multiply_few<block_layouts[i]>,
                                          .unpack = unpack<block_layouts[i]>,
                                          .multiply_chunk = multiply_chunk<block_layouts[i]>,
                                          .panels_of_chunk = panels_of_tile}...};
};
template <size_t... i>
constexpr const BlockKernels* kernels_of(IndexList<i...>) {
  return KernelsOf<i...>::all;
}

}  // namespace

const BlockKernels* block_kernels() { return kernels_of(MakeIndices<block_layout_count>::type{}); }

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
