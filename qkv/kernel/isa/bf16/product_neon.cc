// Products of tiles of bf16 by aarch64's instruction for a product of two rows and two columns (bfmmla), each of two units
// along the depth: a vector holds those of two rows of A, or of two columns of B, and the sum a square of two by two of C.

#include "qkv/kernel/isa/bf16/functions.h"
#include "qkv/kernel/isa/tile_update.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// 8 rows by 8 columns: 32 registers hold their 16 sums and, of four units along the depth, the columns of B.
constexpr int max_pairs = 4, max_vectors = 2;

// The halves of two vectors: two units each.
typedef int64_t halves __attribute__((vector_size(lanes * 4)));
QKV_INLINE vf first_halves(vf a, vf b) {
  return reinterpret_cast<vf>(
      __builtin_shufflevector(reinterpret_cast<halves>(a), reinterpret_cast<halves>(b), 0, 2));
}
QKV_INLINE vf second_halves(vf a, vf b) {
  return reinterpret_cast<vf>(
      __builtin_shufflevector(reinterpret_cast<halves>(a), reinterpret_cast<halves>(b), 1, 3));
}

QKV_INLINE vf multiply_add(vf a, vf b, vf sum) {
  return reinterpret_cast<vf>(vbfmmlaq_f32(reinterpret_cast<float32x4_t>(sum), reinterpret_cast<bfloat16x8_t>(a),
                                           reinterpret_cast<bfloat16x8_t>(b)));
}

// Two rows of a panel of A at a time, as multiply_add() takes them: `units` units from unit k on, the first two and the rest.
template <bool along_rows>
QKV_INLINE void load_pair(const TileProduct& t, int64_t row, bool both, int64_t k, int units, vf (&out)[2]) {
  if constexpr (along_rows) {
    const float* const upper = t.a + row * t.a_row_stride + k;
    // The last row of an odd number stands for the one after it, which is not stored.
    const float* const lower = both ? upper + t.a_row_stride : upper;
    const vf x = units == lanes ? load(upper) : load_part(upper, units);
    const vf y = units == lanes ? load(lower) : load_part(lower, units);
    out[0] = first_halves(x, y), out[1] = second_halves(x, y);
  } else {
    const auto unit = [&](int i) __attribute__((always_inline)) {
      if (i >= units) return vf{};
      const float* const at = t.a + (k + i) * t.a_column_stride + row;
      return vf{at[0], both ? at[1] : 0.0f};
    };
    out[0] = zip_low(unit(0), unit(1)), out[1] = zip_low(unit(2), unit(3));
  }
}

template <int pairs, int vectors, bool along_rows, Update update>
void panel(const TileProduct& t, int64_t rows, const float* factor) {
  vf sums[pairs][vectors][2] = {};
  const auto step = [&](int64_t k, int units) __attribute__((always_inline)) {
    vf b[2][vectors][2];
#pragma GCC unroll 2
    for (int half = 0; half < 2; ++half)
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) {
        const float* const from = t.b + (k + 2 * half) * t.b_row_stride + v * lanes;
        const vf x = 2 * half < units ? load(from) : vf{};
        const vf y = 2 * half + 1 < units ? load(from + t.b_row_stride) : vf{};
        b[half][v][0] = zip_low(x, y), b[half][v][1] = zip_high(x, y);
      }
#pragma GCC unroll 4
    for (int p = 0; p < pairs; ++p) {
      vf pair[2];
      load_pair<along_rows>(t, 2 * p, 2 * p + 1 < rows, k, units, pair);
#pragma GCC unroll 2
      for (int half = 0; half < 2; ++half)
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v)
#pragma GCC unroll 2
          for (int i = 0; i < 2; ++i) sums[p][v][i] = multiply_add(pair[half], b[half][v][i], sums[p][v][i]);
    }
  };
  int64_t k = 0;
  for (; k + 4 <= t.depth; k += 4) step(k, 4);
  if (k < t.depth) step(k, static_cast<int>(t.depth - k));
  const auto write = [&](int64_t row, int v, vf x) __attribute__((always_inline)) {
    if (row >= rows) return;
    float* const c = t.c + row * t.c_row_stride + v * lanes;
    if (update == Update::overwrite) x *= t.scale;
    if (update == Update::overwrite && t.bias) x += load(t.bias + v * lanes);
    if (update == Update::add) x += load(c);
    if (update == Update::rescale) x = fused(load(c), load(factor + v * lanes), x);
    store(c, x);
  };
#pragma GCC unroll 4
  for (int p = 0; p < pairs; ++p)
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      write(2 * p, v, first_halves(sums[p][v][0], sums[p][v][1]));
      write(2 * p + 1, v, second_halves(sums[p][v][0], sums[p][v][1]));
    }
}

template <int vectors, bool along_rows, Update update>
void all_rows(TileProduct t, const float* factor) {
  for (int64_t left = t.rows; left > 0; left -= 2 * max_pairs) {
    switch (left < 2 * max_pairs ? (left + 1) / 2 : max_pairs) {
      case 1: panel<1, vectors, along_rows, update>(t, left, factor); break;
      case 2: panel<2, vectors, along_rows, update>(t, left, factor); break;
      case 3: panel<3, vectors, along_rows, update>(t, left, factor); break;
      default: panel<4, vectors, along_rows, update>(t, left, factor); break;
    }
    t.a += 2 * max_pairs * t.a_row_stride;
    t.c += 2 * max_pairs * t.c_row_stride;
  }
}

template <bool along_rows, Update update>
void all_columns(TileProduct t, const float* factor) {
  for (int64_t left = t.width / lanes; left > 0; left -= max_vectors) {
    if (left >= max_vectors)
      all_rows<max_vectors, along_rows, update>(t, factor);
    else
      all_rows<1, along_rows, update>(t, factor);
    t.b += max_vectors * lanes;
    t.c += max_vectors * lanes;
    if (t.bias) t.bias += max_vectors * lanes;
    if (update == Update::rescale) factor += max_vectors * lanes;
  }
}

template <Update update>
void product(const TileProduct& t, const float* factor) {
  if (t.a_column_stride == 1)
    all_columns<true, update>(t, factor);
  else
    all_columns<false, update>(t, factor);
}

}  // namespace

void begin_products() {}
void end_products() {}
TileProducts bf16_products() {
  return tile_products(
      []<Update update>(const TileProduct& t, const float* factor) { product<update>(t, factor); });
}
const bool columns_as_rows = false;

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
