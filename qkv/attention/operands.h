// Operands of the matrix products of a tile, packed once: a block of queries, a tile of keys or values, a tile of
// weights. Their elements are 32-bit units, as kernel::TileProduct reads them: a float, or two bf16 numbers
// interleaved along the summed axis (VNNI layout).
#pragma once

#include <cstdint>

#include "qkv/attention/tile.h"
#include "qkv/base/integers.h"

namespace qkv {

// A block of queries, or of output gradients.
struct BlockOperand {
  const float* transposed;  // (depth, width), rows `stride` apart; zero in the lanes after the last query
  int64_t depth, stride;
  // (row_depth, row_width), for the backward only: one row per query (or two), zero after the last column.
  const float* rows;
  int64_t row_depth, row_width, row_stride;
  int64_t queries_per_row;  // 2 in VNNI layout, else 1

  // The queries of a tile of this block.
  BlockOperand of(const Tile& tile) const {
    BlockOperand part = *this;
    part.transposed += tile.lane;
    if (rows) part.rows += tile.lane / queries_per_row * row_stride;
    part.row_depth = ceil_div(tile.queries, queries_per_row);
    return part;
  }
};

// Keys or values of a tile, read by rows or by columns.
struct KeyOperand {
  const float* rows;
  int64_t row_stride;
  const float* columns;  // null if no product sums over the keys
  int64_t column_stride, key_stride;
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

}  // namespace qkv
