#include "qkv/kernel/matmul_in_place.h"

#include <algorithm>

#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::kernel {
namespace {

constexpr int64_t few_rows = 8;  // up to so many are multiplied by a weight in registers

int64_t count_of(int64_t n, int64_t size) { return (n + size - 1) / size; }  // parts of that size

struct Target {
  float* data;
  int64_t row_stride;
};

// An item of work is a group of columns.
template <class Element>
void multiply_few(Matrix a, MatrixOf<Element> w, Target c, const MatmulOptions& options) {
  const int64_t width = kernels().matmul.width, N = w.rows, K = w.columns, panels = count_of(N, width);
  const int64_t group =
      std::clamp(std::max(panels / 16, 50'000 / (a.rows * K * width)), int64_t{1}, panels) * width;
  parallel_for(count_of(N, group), [&](int64_t item) {
    const int64_t first = item * group;
    kernels().matmul.rows_of<Element>().multiply({.a = a.data,
                                                  .a_row_stride = a.row_stride,
                                                  .a_column_stride = a.column_stride,
                                                  .rows = a.rows,
                                                  .depth = K,
                                                  .weight = w.data + first * w.row_stride,
                                                  .weight_stride = w.row_stride,
                                                  .c = c.data + first,
                                                  .c_row_stride = c.row_stride,
                                                  .columns = std::min(group, N - first),
                                                  .accumulate = options.accumulate,
                                                  .bias = options.bias ? options.bias + first : nullptr,
                                                  .relu = options.relu});
  });
}

// An item of work is a piece of the rows by a panel of columns, whose blocks it transposes: the more rows the less that
// costs. A block stays in the second-level cache.
template <class Element>
void multiply_many(Matrix a, MatrixOf<Element> w, Target c, const MatmulOptions& options) {
  const MatmulKernels& k = kernels().matmul;
  const int64_t width = k.width, N = w.rows, K = w.columns, panels = count_of(N, width);
  const int64_t pieces = count_of(a.rows, 32 * k.rows), rows = count_of(count_of(a.rows, pieces), k.rows) * k.rows;
  const int64_t max_depth = std::min<int64_t>(65536 / width, K);
  parallel_for(count_of(a.rows, rows) * panels, [&](int64_t item) {
    const int64_t row = item / panels * rows, column = item % panels * width, columns = std::min(width, N - column);
    Scratch scratch;
    float* const panel = scratch.floats(max_depth * width);
    for (int64_t at = 0; at < K; at += max_depth) {
      const int64_t depth = std::min(max_depth, K - at);
      const bool last = at + depth == K;
      k.rows_of<Element>().transpose(w.data + column * w.row_stride + at, w.row_stride, columns, depth, panel);
      k.f32.multiply({.a = a.data + row * a.row_stride + at * a.column_stride,
                      .a_row_stride = a.row_stride,
                      .a_column_stride = a.column_stride,
                      .a_packed = false,
                      .rows = std::min(rows, a.rows - row),
                      .depth = depth,
                      .panel = panel,
                      .panel_stride = width,
                      .c = c.data + row * c.row_stride + column,
                      .c_row_stride = c.row_stride,
                      .columns = columns,
                      .accumulate = at > 0 || options.accumulate,
                      .bias = last && options.bias ? options.bias + column : nullptr,
                      .relu = last && options.relu});
    }
  });
}

}  // namespace

template <class Element>
void multiply_in_place(Matrix a, MatrixOf<Element> w, float* c, int64_t c_row_stride, MatmulOptions options) {
  if (a.rows <= few_rows)
    multiply_few(a, w, {c, c_row_stride}, options);
  else
    multiply_many(a, w, {c, c_row_stride}, options);
}

template void multiply_in_place(Matrix, MatrixOf<float>, float*, int64_t, MatmulOptions);
template void multiply_in_place(Matrix, MatrixOf<uint16_t>, float*, int64_t, MatmulOptions);

}  // namespace qkv::kernel
