#include "qkv/kernel/isa/ahead.h"
#include "qkv/kernel/isa/bf16_bits.h"
#include "qkv/kernel/isa/functions.h"
#include "qkv/kernel/isa/panel.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

// Rows [first_row, first_row + rows) of the product and `vectors` vectors of columns; `last` columns in the last
// vector, `whole` if it is full. Loops over the sums are short, so that compilers unroll them and keep the sums in
// registers. share: bytes of the next panel that a tile fetches for each of its rows.
template <int rows, int vectors, bool whole, class Element>
void tile(const PanelProduct<Element>& p, int64_t first_row, int last, int64_t share) {
  const auto get = [&](const float* at, int v) {
    return whole || v + 1 < vectors ? load(at + v * lanes) : load_part(at + v * lanes, last);
  };
  const auto put = [&](float* at, int v, vf y) {
    if (whole || v + 1 < vectors)
      store(at + v * lanes, y);
    else
      store_part(at + v * lanes, y, last);
  };
  const int64_t c_row = p.c_row_stride, a_row = p.a_row_stride, a_column = p.a_column_stride;
  const int64_t b_row = p.panel_stride;
  float* c = p.c + first_row * c_row;
  vf sum[rows][vectors];
  if (p.accumulate) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        sum[r][v] = get(c + r * c_row, v);
        __builtin_prefetch(c + (rows + r) * c_row + v * lanes, 1);  // of the next tile
      }
  } else {
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) {
        __builtin_prefetch(c + r * c_row + v * lanes, 1);  // for the stores at the end
        sum[r][v] = vf{};
      }
  }

  const float* a = p.a + first_row * a_row;
  const Element* b = p.panel;
  const auto step = [&]() __attribute__((always_inline)) {
    vf row[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) row[v] = load_as_float(b + v * lanes);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const vf x = broadcast(a[r * a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] += x * row[v];
    }
    a += a_column;
    b += b_row;
  };
  constexpr int lines = tile_vectors == 4 && rows > tile_rows / 2 ? 2 : 1;
  const bool has_few_tiles = p.rows <= 2 * tile_rows;
  const Ahead ahead =
      p.next && !has_few_tiles ? ahead_of_tile(p.next, p.depth, lines, share, first_row, rows) : Ahead{};
  int64_t k = 0;
  if (has_few_tiles && first_row == 0)
    for (; k < p.depth; ++k) {
      fetch_near<vectors * lanes * sizeof(Element)>(b);
      step();
    }
  for (; k < ahead.steps; ++k) {
    fetch<lines>(ahead, k);
    step();
  }
#pragma GCC unroll 2
  for (; k < p.depth; ++k) step();

  if (p.bias) {
    vf bias[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) bias[v] = get(p.bias, v);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] += bias[v];
  }
  if (p.relu) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sum[r][v] = max(vf{}, sum[r][v]);
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r)
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) put(c + r * c_row, v, sum[r][v]);
}

template <class Element>
using Tile = void (*)(const PanelProduct<Element>&, int64_t, int, int64_t);

template <class Element, int vectors, bool whole>
Tile<Element> tile_of(int64_t rows) {
  static constexpr Tile<Element> tiles[tile_rows] = {
      tile<1, vectors, whole, Element>, tile<2, vectors, whole, Element>, tile<3, vectors, whole, Element>,
      tile<4, vectors, whole, Element>, tile<5, vectors, whole, Element>, tile<6, vectors, whole, Element>};
  return tiles[rows - 1];
}

template <class Element>
Tile<Element> tile_of(int64_t rows, int64_t vectors, bool whole) {
  if (vectors == tile_vectors && whole) return tile_of<Element, tile_vectors, true>(rows);
  if constexpr (tile_vectors == 4) {
    if (vectors == 4) return tile_of<Element, 4, false>(rows);
    if (vectors == 3) return tile_of<Element, 3, false>(rows);
  }
  return vectors == 2 ? tile_of<Element, 2, false>(rows) : tile_of<Element, 1, false>(rows);
}

// Tiles of about equal height: 8 rows are 4 + 4, not 6 + 2. Calls each(row, rows) for every tile.
template <class Each>
void for_each_tile(int64_t rows, Each each) {
  const int64_t tiles = (rows + tile_rows - 1) / tile_rows, few = tiles > 0 ? rows / tiles : 0;
  const int64_t tiles_of_few = (few + 1) * tiles - rows;
  for (int64_t i = 0, row = 0; i < tiles; ++i) {
    const int64_t count = i < tiles_of_few ? few : few + 1;
    each(row, count);
    row += count;
  }
}

template <class Element>
void multiply_panel(const PanelProduct<Element>& p) {
  const int64_t vectors = (p.columns + lanes - 1) / lanes;
  const int last = static_cast<int>(p.columns - (vectors - 1) * lanes);
  const int64_t bytes = p.depth * p.panel_stride * static_cast<int64_t>(sizeof(Element));
  const int64_t share = p.next && p.rows > 0 ? bytes / p.rows : 0;
  for_each_tile(p.rows, [&](int64_t row, int64_t rows) {
    const Tile<Element> tile = tile_of<Element>(rows, vectors, last == lanes);
    if (!p.a_packed) return tile(p, row, last, share);
    PanelProduct<Element> part = p;
    part.a = p.a + row * (p.depth - 1);  // the tile begins at row * depth, and tile() adds the row
    part.a_row_stride = 1;
    part.a_column_stride = rows;
    tile(part, row, last, share);
  });
}

template <class Element>
void pack_panel(const Element* b, int64_t row_stride, int64_t column_stride, int64_t depth, int64_t columns,
                Element* panel) {
  if (column_stride == 1 && columns == panel_width) {
    for (int64_t k = 0; k < depth; ++k)
      __builtin_memcpy(panel + k * panel_width, b + k * row_stride, panel_width * sizeof(Element));
    return;
  }
  if constexpr (sizeof(Element) == sizeof(float))
    if (row_stride == 1) return float_weight_rows().transpose(b, column_stride, columns, depth, panel);
  // Column by column, in blocks that stay in the first-level cache.
  constexpr int64_t block = 64;
  for (int64_t first = 0; first < depth; first += block) {
    const int64_t end = first + block < depth ? first + block : depth;
    for (int64_t n = 0; n < panel_width; ++n)
      for (int64_t k = first; k < end; ++k)
        panel[k * panel_width + n] = n < columns ? b[k * row_stride + n * column_stride] : Element{};
  }
}

constexpr int64_t packed_columns = 8;  // of a block

// Columns [first, end) of one tile, whose rows are neighbors in memory.
template <int rows>
void pack_columns(const float* from, int64_t column_stride, int64_t first, int64_t end, float* tile) {
  for (int64_t k = first; k < end; ++k) {
    __builtin_prefetch(from + (k + 2 * packed_columns) * column_stride);
    __builtin_memcpy(tile + k * rows, from + k * column_stride, rows * sizeof(float));
  }
}

using PackColumns = void (*)(const float*, int64_t, int64_t, int64_t, float*);
constexpr PackColumns pack_columns_of[tile_rows + 1] = {
    nullptr, pack_columns<1>, pack_columns<2>, pack_columns<3>, pack_columns<4>, pack_columns<5>, pack_columns<6>};

}  // namespace

PanelKernels<float> float_panels() { return {.multiply = multiply_panel<float>, .pack = pack_panel<float>}; }
PanelKernels<uint16_t> bf16_panels() {
  return {.multiply = multiply_panel<uint16_t>, .pack = pack_panel<uint16_t>};
}

void widen_panel(const uint16_t* panel, int64_t depth, float* floats) {
  for (int64_t i = 0; i < depth * panel_width; i += lanes) store(floats + i, load_as_float(panel + i));
}

// In blocks of a few columns, all tiles of a block in turn: columns of a transposed factor are far apart in memory,
// often by a power of two, and only a few such cache lines fit the first-level cache together.
void pack_rows(const float* a, int64_t column_stride, int64_t rows, int64_t depth, float* tiles) {
  for (int64_t first = 0; first < depth; first += packed_columns) {
    const int64_t end = first + packed_columns < depth ? first + packed_columns : depth;
    for_each_tile(rows, [&](int64_t row, int64_t count) {
      pack_columns_of[count](a + row, column_stride, first, end, tiles + row * depth);
    });
  }
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
