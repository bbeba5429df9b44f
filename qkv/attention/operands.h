// What the products of a tile read, packed for them once: a block of queries, a tile of keys or values, a tile of
// weights. Units are floats, or pairs of bf16 (kernel/attention_kernels.h): the parts of the sentence need not
// know.
#pragma once

#include "qkv/attention/tile.h"
#include "qkv/kernel/attention_kernels.h"

namespace qkv {

// A block of queries, or of upstream gradients.
struct BlockOperand {
  const float* transposed;  // (depth, width), rows `stride` apart: lanes are queries, zero past the last one
  int64_t depth, stride;
  // (row_depth, row_width), in the backward only: queries one after another, zero behind the last column.
  const float* rows;
  int64_t row_depth, row_width, row_stride;
  int64_t queries_per_row;  // 1, or 2 where they are paired

  // Of the queries of a tile that is cut from the block.
  BlockOperand of(const Tile& tile) const {
    BlockOperand part = *this;
    part.transposed += tile.lane;
    if (rows) part.rows += tile.lane / queries_per_row * row_stride;
    part.row_depth = (tile.queries + queries_per_row - 1) / queries_per_row;
    return part;
  }
};

// Keys or values of a tile, seen as rows (as they are stored) and as columns.
struct KeyOperand {
  const float* rows;
  int64_t row_stride;
  const float* columns;  // null where nobody sums over keys
  int64_t column_step, key_step;
  int64_t width;  // D or E
};

// A tile of weights, or of gradients of scores.
struct WeightOperand {
  const float* tile;  // floats, (keys, tile.width)
  const float* rows;  // units along the queries: (keys, row_stride)
  int64_t row_stride;
  const float* columns;  // units along the keys: (depth, tile.width)
  int64_t depth;
};

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

// The product V^T W, (columns, queries), to be overwritten, added or rescaled. Rows of out are `stride` apart.
inline kernel::TileProduct columns_product(const Tile& tile, const KeyOperand& v, const WeightOperand& w,
                                           float* out, int64_t stride) {
  return {.a = v.columns,
          .a_row_stride = v.column_step,
          .a_column_stride = v.key_step,
          .b = w.columns,
          .b_row_stride = tile.width,
          .c = out,
          .c_row_stride = stride,
          .rows = v.width,
          .width = tile.width,
          .depth = w.depth};
}

// The same product the other way round, W^T V (queries, columns), for floats. The columns are whole vectors.
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

}  // namespace qkv
