#include "qkv/kernel/matmul.h"

#include <algorithm>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_form.h"

namespace qkv::kernel {
namespace {

struct Destination {
  float* data;
  int64_t row_stride;
};

// The columns of b as panels: panel i begins at data + i * step, and its rows are `stride` apart.
struct Panels {
  const float* data;
  int64_t step, stride;
};

// Rows no further apart than this are read in place: a block of them fits the second-level cache, and packing it
// would cost more than it saves.
constexpr int64_t max_stride = 256;

// Columns of b as panels of `memory`. In blocks of rows, several panels in turn: a row of a narrow panel is a fraction of
// a cache line, and rows may be far apart. Columns that lie in memory number by number are transposed whole.
void pack_panels(Matrix b, int64_t first, int64_t end, float* memory) {
  const MatmulKernels& k = kernels().matmul;
  const int64_t block = b.row_stride == 1 ? b.rows : 32;  // rows
  for (int64_t row = 0; row < b.rows; row += block)
    for (int64_t column = first; column < end; column += k.width)
      k.f32.pack(b.data + row * b.row_stride + column * b.column_stride, b.row_stride, b.column_stride,
                 std::min(block, b.rows - row), std::min<int64_t>(k.width, end - column),
                 memory + (column - first) * b.rows + row * k.width);
}

// b as panels, packed into `memory` or in place.
Panels panels_of(Matrix b, float* memory) {
  const MatmulKernels& k = kernels().matmul;
  // Narrower panels use too little of each cache line; and a partial vector would be read past the end.
  const bool wide = k.width >= 64 && b.columns % kernels().lanes == 0;
  if (wide && b.column_stride == 1 && b.row_stride <= max_stride) return {b.data, k.width, b.row_stride};
  constexpr int64_t group = 128;  // columns
  parallel_for(ceil_div(b.columns, group), [&](int64_t item) {
    const int64_t first = item * group;
    pack_panels(b, first, std::min(first + group, b.columns), memory + first * b.rows);
  });
  return {memory, k.width * b.rows, k.width};
}

// c (+)= a times panels of `columns` columns in total.
void multiply_block(Matrix a, const Panels& panels, int64_t columns, Destination c, MatmulOptions options) {
  const MatmulKernels& k = kernels().matmul;
  const bool packs = a.column_stride > max_stride;
  // At least four items if there is enough work: pieces of the rows, and of the columns if there are few rows.
  const int64_t pieces =
      std::max(ceil_div(a.rows, 16 * k.rows), std::min<int64_t>(4, ceil_div(a.rows, 2 * k.rows)));
  const int64_t rows = ceil_div(ceil_div(a.rows, pieces), k.rows) * k.rows, count = ceil_div(columns, k.width);
  int64_t group = count;
  while (pieces * ceil_div(count, group) < 4 && group * k.width > 64) group = ceil_div(group, 2);
  const int64_t groups = ceil_div(count, group);
  parallel_for(ceil_div(a.rows, rows) * groups, [&](int64_t item) {
    const int64_t row = item / groups * rows, first = item % groups * group;
    Matrix piece = a;
    piece.data += row * a.row_stride;
    piece.rows = std::min(rows, a.rows - row);
    Scratch scratch;
    if (packs) {
      float* const tiles = scratch.floats(piece.rows * a.columns);
      k.pack_rows(piece.data, a.column_stride, piece.rows, a.columns, tiles);
      piece.data = tiles;
    }
    for (int64_t panel = first; panel < std::min(first + group, count); ++panel)
      k.f32.multiply({.a = piece.data,
                      .a_row_stride = a.row_stride,
                      .a_column_stride = a.column_stride,
                      .a_packed = packs,
                      .rows = piece.rows,
                      .depth = a.columns,
                      .panel = panels.data + panel * panels.step,
                      .panel_stride = panels.stride,
                      .c = c.data + row * c.row_stride + panel * k.width,
                      .c_row_stride = c.row_stride,
                      .columns = std::min<int64_t>(k.width, columns - panel * k.width),
                      .accumulate = options.accumulate,
                      .bias = options.bias ? options.bias + panel * k.width : nullptr,
                      .relu = options.relu});
  });
}

// Few results of many terms, such as the gradient of a weight of a small model: blocks of k have too little work for two
// parallel steps each.
bool has_few_results(Matrix a, Matrix b) { return a.rows * b.columns <= 1 << 17 && a.columns > 512; }

// Every item computes its part of c over all k, and packs what it needs of both factors.
void multiply_few(Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  const MatmulKernels& k = kernels().matmul;
  constexpr int64_t depth = 256;
  int64_t rows = std::min<int64_t>(a.rows, 128), columns = std::min<int64_t>(b.columns, 128);
  const auto items = [&] { return ceil_div(a.rows, rows) * ceil_div(b.columns, columns); };
  while (items() < threads() && (rows > 32 || columns > k.width)) {
    int64_t& side = (columns > rows && columns > k.width) || rows <= 32 ? columns : rows;
    side = ceil_div(side, 2);
  }
  columns = ceil_div(columns, k.width) * k.width;
  const int64_t groups = ceil_div(b.columns, columns);
  const bool packs_rows = a.row_stride == 1;
  parallel_for(items(), [&](int64_t item) {
    const int64_t row = item / groups * rows, column = item % groups * columns;
    const int64_t end = std::min(column + columns, b.columns);
    const int64_t height = std::min(rows, a.rows - row);
    Scratch scratch;
    float* const panels = scratch.floats(columns * depth);
    float* const tiles = packs_rows ? scratch.floats(height * depth) : nullptr;
    for (int64_t at = 0; at < a.columns; at += depth) {
      const int64_t terms = std::min(depth, a.columns - at);
      const bool last = at + terms == a.columns;
      const float* const part_a = a.data + row * a.row_stride + at * a.column_stride;
      Matrix part_b = b;
      part_b.data += at * b.row_stride;
      part_b.rows = terms;
      pack_panels(part_b, column, end, panels);
      if (packs_rows) k.pack_rows(part_a, a.column_stride, height, terms, tiles);
      for (int64_t n = column; n < end; n += k.width)
        k.f32.multiply({.a = packs_rows ? tiles : part_a,
                        .a_row_stride = a.row_stride,
                        .a_column_stride = a.column_stride,
                        .a_packed = packs_rows,
                        .rows = height,
                        .depth = terms,
                        .panel = panels + (n - column) * terms,
                        .panel_stride = k.width,
                        .c = c + row * c_row_stride + n,
                        .c_row_stride = c_row_stride,
                        .columns = std::min<int64_t>(k.width, end - n),
                        .accumulate = at > 0 || options.accumulate,
                        .bias = last && options.bias ? options.bias + n : nullptr,
                        .relu = last && options.relu});
    }
  });
}

}  // namespace

// The sum runs in blocks of k, each in two parallel steps: the columns of b are packed once for all items; then
// every item packs its rows of a and multiplies them by the panels. What an item packs stays in the second-level
// cache, and each packed number is used in a hundred multiply-adds or more. Blocks of columns keep the panels in
// the third-level cache.
void matmul(Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  if (a.rows == 0 || b.columns == 0) return;
  if (a.columns == 0) return empty_product(c, c_row_stride, a.rows, b.columns, options);
  if (has_few_results(a, b)) return multiply_few(a, b, c, c_row_stride, options);
  const int64_t depth = std::min<int64_t>(a.columns, 512), columns = std::min<int64_t>(b.columns, 2048);
  const int64_t width = kernels().matmul.width;
  Scratch scratch;
  float* const memory = scratch.floats(ceil_div(columns, width) * width * depth);
  for (int64_t column = 0; column < b.columns; column += columns)
    for (int64_t at = 0; at < a.columns; at += depth) {
      const int64_t terms = std::min(depth, a.columns - at);
      const bool last = at + terms == a.columns;
      Matrix part_a = a, part_b = b;
      part_a.data += at * a.column_stride;
      part_b.data += at * b.row_stride + column * b.column_stride;
      part_a.columns = part_b.rows = terms;
      part_b.columns = std::min(columns, b.columns - column);
      multiply_block(part_a, panels_of(part_b, memory), part_b.columns, {c + column, c_row_stride},
                     {.bias = last && options.bias ? options.bias + column : nullptr,
                      .accumulate = at > 0 || options.accumulate,
                      .relu = last && options.relu});
    }
}

void empty_product(float* c, int64_t c_row_stride, int64_t rows, int64_t columns, const MatmulOptions& options) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = c + r * c_row_stride;
    if (!options.accumulate) std::fill_n(row, columns, 0.0f);
    if (options.bias) kernels().rows.add(row, options.bias, columns, row);
    if (options.relu) kernels().rows.relu(row, columns, row);
  }
}

void matmul_batch(MatmulBatch batch, Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  parallel_for(batch.count, [&](int64_t i) {
    Matrix ai = a, bi = b;
    ai.data += i * batch.a_stride, bi.data += i * batch.b_stride;
    matmul(ai, bi, c + i * batch.c_stride, c_row_stride, options);
  });
}

}  // namespace qkv::kernel
