#include "qkv/kernel/matmul.h"

#include <algorithm>

#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/onednn.h"
#include "qkv/tensor/storage.h"

namespace qkv::kernel {
namespace {

int64_t share(int64_t n, int64_t parts) { return (n + parts - 1) / parts; }

void finish(float* c, int64_t c_row_stride, int64_t rows, int64_t columns, const float* bias, bool relu) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = c + r * c_row_stride;
    if (bias) kernels().rows.add(row, bias, columns, row);
    if (relu) kernels().rows.relu(row, columns, row);
  }
}

// A product over no numbers at all: zero.
void empty_product(float* c, int64_t c_row_stride, int64_t rows, int64_t columns, const MatmulOptions& options) {
  if (!options.accumulate)
    for (int64_t r = 0; r < rows; ++r) std::fill_n(c + r * c_row_stride, columns, 0.0f);
  finish(c, c_row_stride, rows, columns, options.bias, options.relu);
}

}  // namespace

struct PackedMatrix::Data {
  std::shared_ptr<Storage> storage;
  int64_t rows, width;

  float* at(int64_t panel, int64_t row) const {
    return reinterpret_cast<float*>(storage->data()) + (panel * rows + row) * width;
  }
};

PackedMatrix::PackedMatrix(Matrix b) : rows_(b.rows), columns_(b.columns) {
  const MatmulKernels& k = kernels().matmul;
  const int64_t panels = share(b.columns, k.width), bytes = panels * b.rows * k.width * int64_t{sizeof(float)};
  const auto data = std::make_shared<Data>(Data{Storage::allocate(bytes), b.rows, k.width});
  const int64_t depth = 16384 / k.width, parts = share(b.rows, depth);
  parallel_for(panels * parts, [&](int64_t i) {
    const int64_t panel = i / parts, row = i % parts * depth, column = panel * k.width;
    k.pack(b.data + row * b.row_stride + column * b.column_stride, b.row_stride, b.column_stride,
           std::min(depth, b.rows - row), std::min<int64_t>(k.width, b.columns - column), data->at(panel, row));
  });
  data_ = data;
}

int64_t PackedMatrix::bytes() const { return data_ ? data_->storage->bytes() : 0; }

// An item of work is a piece of rows by a group of panels, 16 items or more unless they would be smaller than what
// it costs to hand one out. The larger b is, the more rows must pass by for one reading of it; where b is small,
// few rows keep a's piece in the first-level cache, and whole rows of c go to one thread. Within an item the sum
// runs in blocks, so that the block of a panel (at most 256 KiB) stays in a second-level cache while the rows pass
// by.
void matmul(Matrix a, const PackedMatrix& b, float* c, int64_t c_row_stride, MatmulOptions options) {
  if (a.rows == 0 || b.columns() == 0) return;
  if (a.columns == 0) return empty_product(c, c_row_stride, a.rows, b.columns(), options);
  const MatmulKernels& k = kernels().matmul;
  const int64_t K = a.columns, N = b.columns(), panels = share(N, k.width);
  const int64_t wanted = std::min(K * N / 8192, a.rows * panels / 64);
  const int64_t most_rows = std::clamp<int64_t>(wanted, 2 * k.rows, 16 * k.rows) / k.rows * k.rows;
  const int64_t rows = share(share(a.rows, share(a.rows, most_rows)), k.rows) * k.rows,
                pieces = share(a.rows, rows);
  const int64_t work_of_panel = std::min(rows, a.rows) * K * k.width;
  const int64_t group = std::clamp(std::max(pieces * panels / 16, 50'000 / work_of_panel), int64_t{1}, panels);
  const int64_t groups = share(panels, group);
  const int64_t most_depth = std::min<int64_t>(65536 / k.width, 2048);
  parallel_for(pieces * groups, [&](int64_t item) {
    const int64_t row = item / groups * rows, first = item % groups * group;
    for (int64_t panel = first; panel < std::min(first + group, panels); ++panel) {
      const int64_t column = panel * k.width;
      for (int64_t at = 0; at < K; at += most_depth) {
        const bool last = at + most_depth >= K;
        k.multiply({.a = a.data + row * a.row_stride + at * a.column_stride,
                    .a_row_stride = a.row_stride,
                    .a_column_stride = a.column_stride,
                    .rows = std::min(rows, a.rows - row),
                    .depth = std::min(most_depth, K - at),
                    .panel = b.data().at(panel, at),
                    .c = c + row * c_row_stride + column,
                    .c_row_stride = c_row_stride,
                    .columns = std::min<int64_t>(k.width, N - column),
                    .accumulate = at > 0 || options.accumulate,
                    .bias = last && options.bias ? options.bias + column : nullptr,
                    .relu = last && options.relu});
      }
    }
  });
}

// Items are blocks of c, of the size that oneDNN computes best on one thread; the sum over k is never cut.
void matmul(Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  if (a.rows == 0 || b.columns == 0) return;
  if (a.columns == 0) return empty_product(c, c_row_stride, a.rows, b.columns, options);
  const int64_t rows = 64, pieces = share(a.rows, rows);
  int64_t columns = 512;
  while (columns > 128 && pieces * share(b.columns, columns) < 4) columns /= 2;
  const int64_t blocks = share(b.columns, columns);
  parallel_for(pieces * blocks, [&](int64_t item) {
    const int64_t row = item / blocks * rows, column = item % blocks * columns;
    Matrix part_a = a, part_b = b;
    part_a.data += row * a.row_stride;
    part_a.rows = std::min(rows, a.rows - row);
    part_b.data += column * b.column_stride;
    part_b.columns = std::min(columns, b.columns - column);
    float* part_c = c + row * c_row_stride + column;
    onednn::multiply(part_a, part_b, part_c, c_row_stride, options.accumulate);
    if (options.bias || options.relu)
      finish(part_c, c_row_stride, part_a.rows, part_b.columns, options.bias ? options.bias + column : nullptr,
             options.relu);
  });
}

void matmul_batch(MatmulBatch batch, Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  parallel_for(batch.count, [&](int64_t i) {
    Matrix ai = a, bi = b;
    ai.data += i * batch.a_stride, bi.data += i * batch.b_stride;
    matmul(ai, bi, c + i * batch.c_stride, c_row_stride, options);
  });
}

}  // namespace qkv::kernel
