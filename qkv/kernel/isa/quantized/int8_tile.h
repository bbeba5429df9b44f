// Rows by columns of one or two panels of int8: sums of a row and a panel, and the result from them.
#pragma once

#include "qkv/kernel/isa/ahead.h"
#include "qkv/kernel/isa/quantized/row_pairs.h"
#include "qkv/kernel/isa/quantized/tiles.h"
#include "qkv/kernel/isa/row_pointers.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

// sums[r][p] += the products of `count` steps; panels are panel_stride bytes apart. Few rows are summed in several chains, since
// an instruction waits for the one before it in its chain.
template <int rows, int vectors>
QKV_INLINE void add_steps(const int8_t* a, int64_t a_stride, const uint8_t* weights, int64_t panel_stride,
                          int64_t count, Ahead ahead, vi (&sums)[rows][vectors]) {
  constexpr int chains = rows == 1 ? 4 : rows == 2 ? 2 : 1;
  int64_t s = 0;
  const auto weights_at = [&](int64_t step, int v) __attribute__((always_inline)) {
    return wide_weights(
        load_bytes(weights + v / parts * panel_stride + step * step_bytes + v % parts * part_bytes));
  };
  if constexpr (multiplies_row_pairs && rows % 2 == 0) {
    RowPairs<rows> pairs;
    for (; s + 2 <= count; s += 2) {
      fetch(ahead, s);
      fetch(ahead, s + 1);
      const auto of_step = [&](int i, int p) __attribute__((always_inline)) { return weights_at(s + i, p); };
      add_two_steps(a + s * step_depth, a_stride, of_step, pairs);
    }
    add_row_pairs(pairs, sums);
  }
  vi chain[chains][rows][vectors] = {};
  __builtin_memcpy(chain[0], sums, sizeof(sums));
  const RowPointers<rows, int8_t> x(a, a_stride);
  const auto step = [&](int64_t at, int i) __attribute__((always_inline)) {
    WideWeights w[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v) w[v] = weights_at(at, v);
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const int32_t numbers = four_bytes(x.at(r, at * step_depth));
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) chain[i][r][v] = dot(chain[i][r][v], w[v], numbers);
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
    for (int v = 0; v < vectors; ++v) {
      sums[r][v] = chain[0][r][v];
#pragma GCC unroll 4
      for (int i = 1; i < chains; ++i) sums[r][v] += chain[i][r][v];
    }
}

// One or more panels of a product, and where their columns go. The scales of a panel stand behind its numbers.
struct Int8Panel {
  const uint8_t* numbers;
  int64_t numbers_bytes;
  int64_t share;  // bytes of the panels after these, that a tile fetches for each of its rows
  QuantizedResult result;

  int64_t stride() const { return numbers_bytes + 4 * quantized_width; }
  const float* scales(int panel) const {
    return reinterpret_cast<const float*>(numbers + panel * stride() + numbers_bytes);
  }
};
QKV_INLINE int64_t panel_count(const Int8Product& p) {
  return (p.result.columns + quantized_width - 1) / quantized_width;
}
// Panels [i, i + panels).
template <int panels>
QKV_INLINE Int8Panel panels_of(const Int8Product& p, int64_t i) {
  Int8Panel out = {p.panels, p.steps * step_bytes, 0, p.result};
  out.share = panels * out.stride() / p.rows;
  const int64_t column = i * quantized_width, left = p.result.columns - column;
  out.numbers += i * out.stride();
  out.result.c += column;
  if (out.result.bias) out.result.bias += column;
  out.result.columns = left < panels * quantized_width ? left : panels * quantized_width;
  return out;
}

// Adds steps [first, p.steps) to sums and writes the results of the rows.
template <int rows, int vectors>
QKV_INLINE void finish_rows(const Int8Product& p, const Int8Panel& panel, int64_t row, int64_t first,
                            vi (&sums)[rows][vectors]) {
  constexpr int panels = vectors / parts;
  add_steps(p.a.numbers + row * p.a.stride + first * step_depth, p.a.stride, panel.numbers + first * step_bytes,
            panel.stride(), p.steps - first,
            ahead_of_tile(panel.numbers + panels * panel.stride(), p.steps, panels, panel.share, row, rows), sums);
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
    const vf scale = broadcast(p.a.scales[row + r]);
    vf y[vectors];
#pragma GCC unroll 4
    for (int v = 0; v < vectors; ++v)
      y[v] = __builtin_convertvector(sums[r][v], vf) * load(panel.scales(v / parts) + v % parts * lanes) * scale;
    write_row(panel.result, row + r, y);
  }
}

// What the sums of a row begin with.
QKV_INLINE vi first_sum(const Int8Product& p, int64_t row) {
  return broadcast_i(wide_needs_offset ? p.a.offsets[row] : 0);
}

// Rows [first, p.rows) of the panels.
template <int panels>
QKV_INLINE void multiply_rows(const Int8Product& p, const Int8Panel& panel, int64_t first) {
  for_each_row_tile<max_rows>(p.rows - first, [&]<int rows>(int64_t from) {
    constexpr int vectors = panels * parts;
    const int64_t row = first + from;
    vi sums[rows][vectors];
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r)
#pragma GCC unroll 4
      for (int v = 0; v < vectors; ++v) sums[r][v] = first_sum(p, row + r);
    finish_rows(p, panel, row, 0, sums);
  });
}

// Rows [first, p.rows) of all panels.
QKV_INLINE void multiply_rows(const Int8Product& p, int64_t first) {
  const int64_t count = panel_count(p);
  int64_t i = 0;
  for (; i + panels_of_tile <= count; i += panels_of_tile)
    multiply_rows<panels_of_tile>(p, panels_of<panels_of_tile>(p, i), first);
  for (; i < count; ++i) multiply_rows<1>(p, panels_of<1>(p, i), first);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
