#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/panel.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

// Rows first_row ... of the product, as many columns as `vectors` hold; `last` of them in the last vector.
template <int rows, int vectors>
void tile(const PanelProduct& p, int64_t first_row, int last) {
  const bool whole = last == lanes;
  const auto get = [&](const float* at, int v) {
    return v + 1 < vectors || whole ? load(at + v * lanes) : load_part(at + v * lanes, last);
  };
  float* c = p.c + first_row * p.c_row_stride;
  vf sum[rows][vectors] = {};
  if (p.accumulate)
    for (int r = 0; r < rows; ++r)
      for (int v = 0; v < vectors; ++v) sum[r][v] = get(c + r * p.c_row_stride, v);

  // The lines that the sums go to: by the end they are there, and no store has to wait.
  for (int r = 0; r < rows; ++r)
    for (int v = 0; v < vectors; ++v) __builtin_prefetch(c + r * p.c_row_stride + v * lanes, 1);

  const int64_t a_row = p.a_row_stride, a_column = p.a_column_stride;
  const float* a = p.a + first_row * a_row;
  const float* b = p.panel;
  for (int64_t k = 0; k < p.depth; ++k, a += a_column, b += panel_width) {
    vf row[vectors];
    for (int v = 0; v < vectors; ++v) row[v] = load(b + v * lanes);
    for (int r = 0; r < rows; ++r) {
      const vf x = broadcast(a[r * a_row]);
      for (int v = 0; v < vectors; ++v) sum[r][v] += x * row[v];
    }
  }

  for (int v = 0; v < vectors; ++v) {
    const vf bias = p.bias ? get(p.bias, v) : vf{};
    for (int r = 0; r < rows; ++r) {
      vf y = sum[r][v];
      if (p.bias) y += bias;
      if (p.relu) y = max(vf{}, y);
      float* at = c + r * p.c_row_stride + v * lanes;
      if (v + 1 < vectors || whole)
        store(at, y);
      else
        store_part(at, y, last);
    }
  }
}

using Tile = void (*)(const PanelProduct&, int64_t, int);

template <int vectors>
Tile tile_of(int64_t rows) {
  static constexpr Tile tiles[tile_rows] = {tile<1, vectors>, tile<2, vectors>, tile<3, vectors>,
                                            tile<4, vectors>, tile<5, vectors>, tile<6, vectors>};
  return tiles[rows - 1];
}

Tile tile_of(int64_t rows, int64_t vectors) {
  if constexpr (tile_vectors == 4) {
    if (vectors == 4) return tile_of<4>(rows);
    if (vectors == 3) return tile_of<3>(rows);
  }
  return vectors == 2 ? tile_of<2>(rows) : tile_of<1>(rows);
}

}  // namespace

void multiply_panel(const PanelProduct& p) {
  const int64_t vectors = (p.columns + lanes - 1) / lanes;
  const int last = static_cast<int>(p.columns - (vectors - 1) * lanes);
  // Even shares: 8 rows are 4 + 4, not 6 + 2.
  const int64_t shares = (p.rows + tile_rows - 1) / tile_rows;
  for (int64_t i = 0, row = 0; i < shares; ++i) {
    const int64_t rows = (p.rows - row) / (shares - i);
    tile_of(rows, vectors)(p, row, last);
    row += rows;
  }
}

void pack_panel(const float* b, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
                float* panel) {
  if (column_stride == 1 && columns == panel_width) {
    for (int64_t k = 0; k < depth; ++k)
      for (int v = 0; v < tile_vectors; ++v)
        store(panel + k * panel_width + v * lanes, load(b + k * row_stride + v * lanes));
    return;
  }
  // Column by column, in blocks that stay in the first-level cache.
  constexpr int64_t block = 64;
  for (int64_t first = 0; first < depth; first += block) {
    const int64_t end = first + block < depth ? first + block : depth;
    for (int64_t n = 0; n < panel_width; ++n)
      for (int64_t k = first; k < end; ++k)
        panel[k * panel_width + n] = n < columns ? b[k * row_stride + n * column_stride] : 0.0f;
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
