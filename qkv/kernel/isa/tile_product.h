// The matrix product of a tile: MR rows by NV vectors of columns of C stay in registers in the loop over the depth.
//
//     C[m][n] (+)= sum_k A(m, k) B[k][n]        A broadcast, B loaded, one multiply-add of units each
//
// Rows are cut into panels of about equal height (64 rows are 11 + 11 + ..., not 12 + ... + 4). Unit is a float or
// two bf16: see attention_kernels.h.
#pragma once

#include "qkv/kernel/attention_kernels.h"
#include "qkv/kernel/isa/ahead.h"
#include "qkv/kernel/isa/row_pointers.h"
#include "qkv/kernel/isa/tile_update.h"
#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {
namespace {

// Rows of a panel by vectors of columns: 32 registers hold 6 x 4 sums, 16 registers hold 6 x 2.
constexpr int max_vectors = registers == 32 ? 4 : 2;
constexpr int panel_rows[] = {0, registers == 32 ? 14 : 8, registers == 32 ? 12 : 6, 8, 6};

constexpr int fetched_lines(int64_t rows) { return rows <= panel_rows[max_vectors] / 2 ? 1 : 2; }

template <class Unit, int MR, int NV, bool along_rows, Update update>
void panel(const TileProduct& t, const float* factor, Ahead ahead, bool fetches_own) {
  vf sum[MR][NV];
#pragma GCC unroll 16
  for (int m = 0; m < MR; ++m)
#pragma GCC unroll 4
    for (int n = 0; n < NV; ++n) {
      if constexpr (update != Update::rescale && Unit::fetches_next)
        __builtin_prefetch(t.c + m * t.c_row_stride + n * lanes, 1);  // for the stores at the end
      sum[m][n] = vf{};
    }

  const float* b = t.b;
  const RowPointers<MR, float> rows(t.a, t.a_row_stride);
  const float* column = t.a;

  const auto step = [&](int64_t k) __attribute__((always_inline)) {
    vf x[NV];
#pragma GCC unroll 4
    for (int n = 0; n < NV; ++n) x[n] = load(b + n * lanes);
    b += t.b_row_stride;
#pragma GCC unroll 16
    for (int m = 0; m < MR; ++m) {
      const auto a = Unit::broadcast(along_rows ? rows.at(m, k) : column + m);
#pragma GCC unroll 4
      for (int n = 0; n < NV; ++n) sum[m][n] = Unit::multiply_add(a, x[n], sum[m][n]);
    }
    if (!along_rows) column += t.a_column_stride;
  };
  int64_t k = 0;
  if constexpr (Unit::fetches_next && NV == max_vectors) {
    if (fetches_own)
      for (; k < t.depth; ++k) {
        fetch_near<NV * lanes * sizeof(float)>(b);
        step(k);
      }
    for (; k < ahead.steps; ++k) {
      fetch<fetched_lines(MR)>(ahead, k);
      step(k);
    }
  }
#pragma GCC unroll 2
  for (; k < t.depth; ++k) step(k);

#pragma GCC unroll 16
  for (int m = 0; m < MR; ++m) {
    float* c = t.c + m * t.c_row_stride;
#pragma GCC unroll 4
    for (int n = 0; n < NV; ++n) {
      vf v = sum[m][n];
      if (update == Update::overwrite) v *= t.scale;
      if (update == Update::overwrite && t.bias) v += load(t.bias + n * lanes);
      if (update == Update::add) v += load(c + n * lanes);
      if (update == Update::rescale) v += load(c + n * lanes) * load(factor + n * lanes);
      store(c + n * lanes, v);
    }
  }
}

using Panel = void (*)(const TileProduct&, const float*, Ahead, bool);

template <class Unit, int NV, bool along_rows, Update update>
Panel panel_of(int64_t rows) {
  constexpr int max_panel_rows = panel_rows[NV];
  static constexpr Panel table[] = {
      panel<Unit, 1, NV, along_rows, update>,
      panel<Unit, 2, NV, along_rows, update>,
      panel<Unit, 3, NV, along_rows, update>,
      panel<Unit, 4, NV, along_rows, update>,
      panel<Unit, 5, NV, along_rows, update>,
      panel<Unit, 6, NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 7 ? 7 : 1), NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 8 ? 8 : 1), NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 9 ? 9 : 1), NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 10 ? 10 : 1), NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 11 ? 11 : 1), NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 12 ? 12 : 1), NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 13 ? 13 : 1), NV, along_rows, update>,
      panel<Unit, (max_panel_rows >= 14 ? 14 : 1), NV, along_rows, update>,
  };
  return table[rows - 1];
}

template <class Unit, int NV, bool along_rows, Update update>
void columns(TileProduct t, const float* factor) {
  const int64_t panels = (t.rows + panel_rows[NV] - 1) / panel_rows[NV];
  if (panels == 0) return;
  // Divisions take as long as a step or two of the loop over the depth: none is left for a panel.
  const int64_t few = t.rows / panels, panels_of_more = t.rows - few * panels;
  const int64_t bytes = t.depth * t.b_row_stride * int64_t{4};
  const bool fetches_own = panels <= 2, fetches = Unit::fetches_next && NV == max_vectors && t.next && !fetches_own;
  const int64_t share = fetches ? bytes / panels : 0;
  Ahead ahead = fetches ? ahead_of_tile(t.next, t.depth, fetched_lines(few), share, 0, 1) : Ahead{};
  for (int64_t p = 0; p < panels; ++p) {
    const int64_t rows = p < panels_of_more ? few + 1 : few;
    panel_of<Unit, NV, along_rows, update>(rows)(t, factor, ahead, fetches_own && p == 0);
    t.a += rows * t.a_row_stride;
    t.c += rows * t.c_row_stride;
    if (fetches) ahead.part += share;
  }
}

template <class Unit, bool along_rows, Update update>
void all_columns(TileProduct t, const float* factor) {
  int64_t left = t.width / lanes;
  while (left > 0) {
    const int64_t vectors = left < max_vectors ? left : max_vectors;
    switch (vectors) {
      case 1: columns<Unit, 1, along_rows, update>(t, factor); break;
      case 2: columns<Unit, 2, along_rows, update>(t, factor); break;
      case 3:
        if constexpr (max_vectors >= 3) columns<Unit, 3, along_rows, update>(t, factor);
        break;
      case 4:
        if constexpr (max_vectors >= 4) columns<Unit, 4, along_rows, update>(t, factor);
        break;
      default: break;
    }
    t.b += vectors * lanes;
    t.c += vectors * lanes;
    if (t.bias) t.bias += vectors * lanes;
    if (update == Update::rescale) factor += vectors * lanes;
    left -= vectors;
  }
}

template <class Unit, Update update>
void product(const TileProduct& t, const float* factor) {
  if (t.a_column_stride == 1)
    all_columns<Unit, true, update>(t, factor);
  else
    all_columns<Unit, false, update>(t, factor);
}

template <class Unit>
constexpr TileProducts products_of() {
  return tile_products(
      []<Update update>(const TileProduct& t, const float* factor) { product<Unit, update>(t, factor); });
}

}  // namespace
}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
