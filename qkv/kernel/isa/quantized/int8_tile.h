// Rows by columns of a panel of int8: sums of a row and a panel, and the result from them.
#pragma once

#include "qkv/kernel/isa/ahead.h"
#include "qkv/kernel/isa/quantized/row_pairs.h"
#include "qkv/kernel/isa/quantized/tiles.h"
#include "qkv/kernel/isa/row_pointers.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

// sums[r][p] += the products of `count` steps. Few rows are summed in several chains, since an instruction waits for the
// one before it in its chain.
template <int rows, bool wide>
QKV_INLINE void add_steps(const int8_t* a, int64_t a_stride, const uint8_t* weights, int64_t count, Ahead ahead,
                          vi (&sums)[rows][parts]) {
  constexpr int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1;
  vi chain[chains][rows][parts] = {};
  int64_t s = 0;
  if constexpr (multiplies_row_pairs && rows % 2 == 0) {
    RowPairs<rows> pairs;
    for (; s + 2 <= count; s += 2) {
      fetch(ahead, s);
      fetch(ahead, s + 1);
      const auto of_step = [&](int i, int p) __attribute__((always_inline)) {
        return weights_of_step<wide>(load_bytes(weights + (s + i) * step_bytes + p * part_bytes));
      };
      add_two_steps(a + s * step_depth, a_stride, of_step, pairs);
    }
    add_row_pairs(pairs, sums);
  }
  const RowPointers<rows, int8_t> x(a, a_stride);
  const auto step = [&](int64_t at, int i) __attribute__((always_inline)) {
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p) {
      const auto w = weights_of_step<wide>(load_bytes(weights + at * step_bytes + p * part_bytes));
#pragma GCC unroll 8
      for (int r = 0; r < rows; ++r) chain[i][r][p] = dot(chain[i][r][p], w, four_bytes(x.at(r, at * step_depth)));
    }
  };
  for (; s < ahead.steps && s + chains <= count; s += chains)
#pragma GCC unroll 4
    for (int i = 0; i < chains; ++i) {
      fetch(ahead, s + i);
      step(s + i, i);
    }
  for (; s + chains <= count; s += chains)
#pragma GCC unroll 4
    for (int i = 0; i < chains; ++i) step(s + i, i);
  for (; s < count; ++s) step(s, 0);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p)
#pragma GCC unroll 4
      for (int i = 0; i < chains; ++i) sums[r][p] += chain[i][r][p];
}

// A panel of a product, and where its columns go.
struct Int8Panel {
  const uint8_t* numbers;
  const float* scales;
  QuantizedResult result;
};
QKV_INLINE int64_t panel_count(const Int8Product& p) {
  return (p.result.columns + quantized_width - 1) / quantized_width;
}
QKV_INLINE Int8Panel panel_of(const Int8Product& p, int64_t i) {
  const int64_t numbers = p.steps * step_bytes, column = i * quantized_width, left = p.result.columns - column;
  const uint8_t* const panel = p.panels + i * (numbers + 4 * quantized_width);
  Int8Panel out = {panel, reinterpret_cast<const float*>(panel + numbers), p.result};
  out.result.c += column;
  if (out.result.bias) out.result.bias += column;
  out.result.columns = left < quantized_width ? left : quantized_width;
  return out;
}

// Adds steps [first, p.steps) to sums and writes the results of the rows.
template <int rows>
QKV_INLINE void finish_rows(const Int8Product& p, const Int8Panel& panel, int64_t row, int64_t first,
                            vi (&sums)[rows][parts]) {
  const uint8_t* const next = panel.numbers + p.steps * step_bytes + 4 * quantized_width;
  add_steps<rows, true>(p.a.numbers + row * p.a.stride + first * step_depth, p.a.stride,
                        panel.numbers + first * step_bytes, p.steps - first,
                        ahead_of_tile(next, p.steps, 1, p.steps * step_bytes, row, rows, p.rows), sums);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const vf scale = broadcast(p.a.scales[row + r]);
    vf y[parts];
#pragma GCC unroll 4
    for (int v = 0; v < parts; ++v)
      y[v] = __builtin_convertvector(sums[r][v], vf) * load(panel.scales + v * lanes) * scale;
    write_row(panel.result, row + r, y);
  }
}

// What the sums of a row begin with.
QKV_INLINE vi first_sum(const Int8Product& p, int64_t row) {
  return broadcast_i(wide_needs_offset ? p.a.offsets[row] : 0);
}

// Rows [first, p.rows) of a panel.
QKV_INLINE void multiply_rows(const Int8Product& p, const Int8Panel& panel, int64_t first) {
  for_each_row_tile<max_rows>(p.rows - first, [&]<int rows>(int64_t from) {
    const int64_t row = first + from;
    vi sums[rows][parts];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < parts; ++v) sums[r][v] = first_sum(p, row + r);
    finish_rows<rows>(p, panel, row, 0, sums);
  });
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
