// The matrix products of a tile, from its packed operands.
#pragma once

#include "qkv/attention/operands.h"
#include "qkv/kernel/attention_kernels.h"

namespace qkv::internal {

// s (keys, queries) = scale * K Q^T
inline void multiply_rows(const kernel::TileProducts& products, const Tile& tile, const KeyOperand& k,
                          const BlockOperand& q, float scale, float* s) {
  products.overwrite({.a = k.rows,
                      .a_row_stride = k.row_stride,
                      .a_column_stride = 1,
                      .b = q.transposed,
                      .b_row_stride = q.stride,
                      .c = s,
                      .c_row_stride = tile.width,
                      .rows = tile.keys,
                      .width = tile.width,
                      .depth = q.depth,
                      .scale = scale});
}

// V^T W, (columns, queries), to be overwritten, added or rescaled. Rows of out are `stride` apart.
inline kernel::TileProduct columns_product(const Tile& tile, const KeyOperand& v, const WeightOperand& w,
                                           float* out, int64_t stride) {
  return {.a = v.columns,
          .a_row_stride = v.column_stride,
          .a_column_stride = v.key_stride,
          .b = w.columns,
          .b_row_stride = tile.width,
          .c = out,
          .c_row_stride = stride,
          .rows = v.width,
          .width = tile.width,
          .depth = w.depth};
}

// The transpose of that, W^T V (queries, columns), for floats whose columns are a multiple of the SIMD lanes.
inline kernel::TileProduct rows_product(const Tile& tile, const KeyOperand& v, const WeightOperand& w, float* out,
                                        int64_t stride) {
  return {.a = w.columns,
          .a_row_stride = 1,
          .a_column_stride = tile.width,
          .b = v.rows,
          .b_row_stride = v.row_stride,
          .c = out,
          .c_row_stride = stride,
          .rows = tile.queries,
          .width = v.width,
          .depth = w.depth};
}

// dk (keys, row_width) += dS Q
inline void add_rows_product(const kernel::TileProducts& products, const Tile& tile, const WeightOperand& w,
                             const BlockOperand& q, float* dk) {
  products.add({.a = w.rows,
                .a_row_stride = w.row_stride,
                .a_column_stride = 1,
                .b = q.rows,
                .b_row_stride = q.row_stride,
                .c = dk,
                .c_row_stride = q.row_width,
                .rows = tile.keys,
                .width = q.row_width,
                .depth = q.row_depth});
}

}  // namespace qkv::internal
