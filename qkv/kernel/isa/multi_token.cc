// The steps of multi-token attention between its products and convolutions.

#include <math.h>

#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// The visible lanes from lane i on, as a vector of ones and zeros.
struct Bits {
  vi bit;
  Bits() {
    for (int i = 0; i < lanes; ++i) bit[i] = 1 << i;
  }
  __attribute__((always_inline)) vi operator()(uint64_t word, int64_t i) const {
    return (broadcast_i(static_cast<int32_t>(word >> i)) & bit) != 0;
  }
};

}  // namespace

void clear(const float* s, int64_t keys, int64_t width, const uint64_t* visible, float* out) {
  const Bits bits;
  const uint64_t all_queries = width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
  for (int64_t j = 0; j < keys; ++j, s += width, out += width) {
    if ((visible[j] & all_queries) == all_queries) {
      if (s != out)
        for (int64_t i = 0; i < width; i += lanes) store(out + i, load(s + i));
      continue;
    }
    for (int64_t i = 0; i < width; i += lanes) store(out + i, bits(visible[j], i) ? load(s + i) : vf{});
  }
}

void column_maximum(const float* s, int64_t keys, int64_t width, const uint64_t* visible, float* maximum) {
  const Bits bits;
  const vf masked = broadcast(-INFINITY);
  for (int64_t i = 0; i < width; i += lanes) {
    vf m = load(maximum + i);
    for (int64_t j = 0; j < keys; ++j) m = max(m, bits(visible[j], i) ? load(s + j * width + i) : masked);
    store(maximum + i, m);
  }
}

void column_exponentials(float* s, int64_t keys, int64_t width, const uint64_t* visible, const float* maximum,
                         float* sum) {
  const Bits bits;
  const vf zero = {};
  for (int64_t i = 0; i < width; i += lanes) {
    const vf m = load(maximum + i);
    vf total = zero;
    for (int64_t j = 0; j < keys; ++j) {
      float* p = s + j * width + i;
      const vf e = exp2_or_zero((load(p) - m) * log2_e);
      const vf seen = bits(visible[j], i) ? e : zero;
      total += seen;
      store(p, seen);
    }
    store(sum + i, load(sum + i) + total);
  }
}

void scale_columns(float* s, int64_t keys, int64_t width, const float* factor) {
  for (int64_t i = 0; i < width; i += lanes) {
    const vf f = load(factor + i);
    for (int64_t j = 0; j < keys; ++j) store(s + j * width + i, load(s + j * width + i) * f);
  }
}

void dot_columns(const float* a, const float* b, int64_t keys, int64_t width, float* sum) {
  for (int64_t i = 0; i < width; i += lanes) {
    vf total = {};
    for (int64_t j = 0; j < keys; ++j) total += load(a + j * width + i) * load(b + j * width + i);
    store(sum + i, load(sum + i) + total);
  }
}

namespace {

constexpr int block_rows = 4;

template <int R, int C>
void dot_block(const float* a, int64_t a_stride, const float* b, int64_t b_stride, int64_t keys, int64_t width,
               double* sums, int64_t sums_stride) {
  vf all[R][C][sums_vectors];
#pragma GCC unroll 4
  for (int p = 0; p < sums_vectors; ++p) {
    vf sum[R][C];
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum[r][c] = vf{};
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t i = j * width + p * lanes; i < (j + 1) * width; i += partial_sums) {
        vf y[C];
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) y[c] = load(b + c * b_stride + i);
#pragma GCC unroll 4
        for (int r = 0; r < R; ++r) {
          const vf x = load(a + r * a_stride + i);
#pragma GCC unroll 4
          for (int c = 0; c < C; ++c) sum[r][c] += x * y[c];
        }
      }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r)
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) all[r][c][p] = sum[r][c];
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) sums[r * sums_stride + c] += static_cast<double>(sum_all(all[r][c]));
}

using DotBlock = void (*)(const float*, int64_t, const float*, int64_t, int64_t, int64_t, double*, int64_t);

template <int R>
DotBlock dot_block_of(int64_t columns) {
  static constexpr DotBlock all[block_rows] = {dot_block<R, 1>, dot_block<R, 2>, dot_block<R, 3>, dot_block<R, 4>};
  return all[columns - 1];
}

}  // namespace

void dot_all_heads(const HeadTiles& a, const HeadTiles& b, int64_t keys, int64_t width, double* sums) {
  using OfColumns = DotBlock (*)(int64_t);
  static constexpr OfColumns of_rows[block_rows] = {dot_block_of<1>, dot_block_of<2>, dot_block_of<3>,
                                                    dot_block_of<4>};
  if (width % partial_sums == 0) width *= keys, keys = 1;  // one long row has the same sums
  for (int64_t r = 0; r < a.count; r += block_rows)
    for (int64_t c = 0; c < b.count; c += block_rows) {
      const int64_t rows = a.count - r < block_rows ? a.count - r : block_rows;
      const int64_t columns = b.count - c < block_rows ? b.count - c : block_rows;
      of_rows[rows - 1](columns)(a.data + r * a.stride, a.stride, b.data + c * b.stride, b.stride, keys, width,
                                 sums + r * b.count + c, b.count);
    }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
