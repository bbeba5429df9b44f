// Products by a weight (N,K) as it stands in memory. Lanes are rows of the weight: a square of them is transposed in
// registers, so that an element of the product is the chain of multiply-adds that it is with a packed weight (matmul.cc),
// and has the same bits.
#include "qkv/kernel/isa/bf16_bits.h"
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/panel.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

// Numbers of a row in a square, whose elements are 32 bits: one float, or two bf16.
template <class Element>
constexpr int square_columns = lanes * 4 / static_cast<int>(sizeof(Element));

// use(k, v) for the first `count` columns of a square: lane n of v is the float of weight[n * stride + k].
template <class Element, class Use>
QKV_INLINE void for_each_column(const Element* weight, int64_t stride, int64_t count, Use use) {
  vf square[lanes];
  load_transposed(reinterpret_cast<const char*>(weight), stride * static_cast<int64_t>(sizeof(Element)), square);
#pragma GCC unroll 16
  for (int i = 0; i < lanes; ++i) {
    if constexpr (sizeof(Element) == 4) {
      if (i < count) use(i, square[i]);
    } else {
      const vi pair = bits_of(square[i]);
      if (2 * i < count) use(2 * i, from_bits(pair << 16));
      if (2 * i + 1 < count) use(2 * i + 1, from_bits(pair & static_cast<int32_t>(0xffff0000)));
    }
  }
}

// for_each_column() along the whole depth, of `rows` <= lanes rows; those that are not there are zero.
template <class Element, class Use>
QKV_INLINE void for_each_depth(const Element* weight, int64_t stride, int64_t rows, int64_t depth, Use use) {
  constexpr int step = square_columns<Element>;
  int64_t k = 0;
  if (rows == lanes)
    for (; k + step <= depth; k += step) {
      // The rows of the next square of lanes: so many rows are more than the processor follows by itself.
#pragma GCC unroll 16
      for (int n = 0; n < lanes; ++n) __builtin_prefetch(weight + (lanes + n) * stride + k, 0, 2);
      for_each_column(
          weight + k, stride, step, [&](int i, vf column) __attribute__((always_inline)) { use(k + i, column); });
    }
  for (; k < depth; k += step) {
    Element part[lanes * step] = {};
    const int64_t count = depth - k < step ? depth - k : step;
    for (int64_t n = 0; n < rows; ++n)
      __builtin_memcpy(part + n * step, weight + n * stride + k,
                       static_cast<unsigned long>(count) * sizeof(Element));
    for_each_column(
        part, step, count, [&](int i, vf column) __attribute__((always_inline)) { use(k + i, column); });
  }
}

// `rows` rows of the product from `first_row`, columns [column, column + count), count <= lanes.
template <int rows, class Element>
void row_tile(const WeightRowsProduct<Element>& p, int64_t first_row, int64_t column, int64_t count) {
  const bool whole = count == lanes;
  const int n = static_cast<int>(count);
  const auto get = [&](const float* at) { return whole ? load(at) : load_part(at, n); };
  const float* const a = p.a + first_row * p.a_row_stride;
  float* const c = p.c + first_row * p.c_row_stride + column;
  vf sum[rows];
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) sum[r] = p.accumulate ? get(c + r * p.c_row_stride) : vf{};
  for_each_depth(
      p.weight + column * p.weight_stride, p.weight_stride, count,
      p.depth, [&](int64_t k, vf numbers) __attribute__((always_inline)) {
        const float* const at = a + k * p.a_column_stride;
#pragma GCC unroll 4
        for (int r = 0; r < rows; ++r) sum[r] += broadcast(at[r * p.a_row_stride]) * numbers;
      });
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    if (p.bias) sum[r] += get(p.bias + column);
    if (p.relu) sum[r] = max(vf{}, sum[r]);
    if (whole)
      store(c + r * p.c_row_stride, sum[r]);
    else
      store_part(c + r * p.c_row_stride, sum[r], n);
  }
}

template <class Element>
void multiply_rows(const WeightRowsProduct<Element>& p) {
  for (int64_t column = 0; column < p.columns; column += lanes) {
    const int64_t count = p.columns - column < lanes ? p.columns - column : lanes;
    int64_t row = 0;
    for (; row + 4 <= p.rows; row += 4) row_tile<4>(p, row, column, count);
    if (p.rows - row == 3) row_tile<3>(p, row, column, count);
    if (p.rows - row == 2) row_tile<2>(p, row, column, count);
    if (p.rows - row == 1) row_tile<1>(p, row, column, count);
  }
}

template <class Element>
void transpose_rows(const Element* weight, int64_t weight_stride, int64_t columns, int64_t depth, float* panel) {
  for (int64_t column = 0; column < panel_width; column += lanes) {
    const int64_t left = columns - column, count = left < 0 ? 0 : left < lanes ? left : lanes;
    for_each_depth(
        weight + (count > 0 ? column : 0) * weight_stride, weight_stride, count,
        depth, [&](int64_t k, vf numbers) __attribute__((always_inline)) {
          store(panel + k * panel_width + column, numbers);
        });
  }
}

}  // namespace

WeightRowKernels<float> float_weight_rows() {
  return {.multiply = multiply_rows<float>, .transpose = transpose_rows<float>};
}
WeightRowKernels<uint16_t> bf16_weight_rows() {
  return {.multiply = multiply_rows<uint16_t>, .transpose = transpose_rows<uint16_t>};
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
