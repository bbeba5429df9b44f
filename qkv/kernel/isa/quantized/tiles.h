// Rows of a product that are computed together, and where their sums go.
#pragma once

#include "qkv/kernel/isa/quantized/columns.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

// Rows that are computed at a time: their sums fit half of the registers.
constexpr int max_rows = registers / 2 / parts < 8 ? registers / 2 / parts : 8;

// Panels that are multiplied at a time: where a panel is one vector, a number of a row that is loaded serves two.
constexpr int panels_of_tile = registers / 2 / parts < 2 * max_rows ? 1 : 2;

// Row r of the result from the sums of its columns.
template <int vectors>
QKV_INLINE void write_row(const QuantizedResult& out, int64_t r, vf (&y)[vectors]) {
  float* const c = out.c + r * out.row_stride;
#pragma GCC unroll 4
  for (int p = 0; p < vectors; ++p) {
    const int64_t left = out.columns - p * lanes;
    if (left <= 0) return;
    const bool whole = left >= lanes;
    const auto get = [&](const float* at) {
      return whole ? load(at + p * lanes) : load_part(at + p * lanes, static_cast<int>(left));
    };
    if (out.bias) y[p] += get(out.bias);
    if (out.accumulate) y[p] += get(c);
    if (out.relu) y[p] = max(vf{}, y[p]);
    if (whole)
      store(c + p * lanes, y[p]);
    else
      store_part(c + p * lanes, y[p], static_cast<int>(left));
  }
}

// tile(rows, first row) for all rows: tiles of max_tile_rows, then of 4, 2 and 1. The last eight rows are two tiles of 4 rather
// than one of 6 and one of 2.
template <int max_tile_rows, class Tile>
QKV_INLINE void for_each_row_tile(int64_t rows, Tile tile) {
  int64_t row = 0;
  if constexpr (max_tile_rows > 4)
    for (; rows - row >= max_tile_rows && (max_tile_rows == 8 || rows - row != 8); row += max_tile_rows)
      tile.template operator()<max_tile_rows>(row);
  if constexpr (max_tile_rows >= 4)
    for (; rows - row >= 4; row += 4) tile.template operator()<4>(row);
  if constexpr (max_tile_rows >= 2)
    for (; rows - row >= 2; row += 2) tile.template operator()<2>(row);
  for (; row < rows; ++row) tile.template operator()<1>(row);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
