// Products of int8 on AMX: sixteen rows by a panel in a tile register, up to two by two of them at a time. A tile of weights is
// 16 steps of a panel, as they are stored. The rows after the last whole sixteen, and the steps after the last whole
// 16, are multiplied as on AVX-512 with VNNI. Sums of integers are exact, so the bits are the same.
#include "qkv/kernel/isa/amx_tiles.h"
#include "qkv/kernel/isa/quantized/functions.h"
#include "qkv/kernel/isa/quantized/int8_tile.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

namespace {

constexpr int tile_steps = square;  // of a tile of weights

// The results of 16 rows from the sums that a tile holds.
void write_tile(const Int8Product& p, const Int8Panel& panel, int64_t row, const int32_t* tile) {
  constexpr int rows = max_rows;
  for (int first = 0; first < square; first += rows) {
    vi sums[rows][parts];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) sums[r][0] = first_sum(p, row + first + r) + load_i(tile + (first + r) * square);
    finish_rows(p, panel, row + first, p.steps / tile_steps * tile_steps, sums);
  }
}

template <int row_tiles, int panels>
void multiply_tiles(const Int8Product& p, int64_t row, int64_t first_panel) {
  const uint8_t* const first = panels_of<1>(p, first_panel).numbers;
  const uint8_t* const second = panels > 1 ? panels_of<1>(p, first_panel + 1).numbers : first;
  const int8_t *const upper = p.a.numbers + row * p.a.stride, *const lower = upper + square * p.a.stride;
  tile_zero<0>();
  tile_zero<1>();
  tile_zero<2>();
  tile_zero<3>();
  for (int64_t s = 0; s + tile_steps <= p.steps; s += tile_steps) {
    tile_load_bytes<4>(upper + s * step_depth, p.a.stride);
    tile_load_bytes<6>(first + s * step_bytes, step_bytes);
    tile_multiply_add_bytes<0, 4, 6>();
    if constexpr (panels > 1) {
      tile_load_bytes<7>(second + s * step_bytes, step_bytes);
      tile_multiply_add_bytes<1, 4, 7>();
    }
    if constexpr (row_tiles > 1) {
      tile_load_bytes<5>(lower + s * step_depth, p.a.stride);
      tile_multiply_add_bytes<2, 5, 6>();
      if constexpr (panels > 1) tile_multiply_add_bytes<3, 5, 7>();
    }
  }
  alignas(64) int32_t sums[2][2][square * square];
  tile_store_bytes<0>(sums[0][0], 4 * square);
  tile_store_bytes<1>(sums[0][1], 4 * square);
  tile_store_bytes<2>(sums[1][0], 4 * square);
  tile_store_bytes<3>(sums[1][1], 4 * square);
  for (int j = 0; j < panels; ++j)
    for (int i = 0; i < row_tiles; ++i)
      write_tile(p, panels_of<1>(p, first_panel + j), row + int64_t{i} * square, sums[i][j]);
}

template <int panels>
void multiply_panels(const Int8Product& p, int64_t first_panel) {
  int64_t row = 0;
  for (; row + 2 * square <= p.rows; row += 2 * square) multiply_tiles<2, panels>(p, row, first_panel);
  if (row + square <= p.rows) multiply_tiles<1, panels>(p, row, first_panel);
}

}  // namespace

void multiply_int8(const Int8Product& p) {
  const int64_t panels = panel_count(p), rows_of_tiles = p.steps < tile_steps ? 0 : p.rows / square * square;
  if (rows_of_tiles > 0) {
    configure_tiles();
    int64_t i = 0;
    for (; i + 2 <= panels; i += 2) multiply_panels<2>(p, i);
    if (i < panels) multiply_panels<1>(p, i);
    release_tiles();
  }
  if (rows_of_tiles < p.rows) multiply_rows(p, rows_of_tiles);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
