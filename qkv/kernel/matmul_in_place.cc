// Products by a weight as it stands in memory, which was not packed (PackedMatrix::in_place() in matmul.h).
#include <algorithm>
#include <bit>
#include <cstring>

#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_form.h"
#include "qkv/tensor/storage.h"

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

// For few rows of a the weight is read once, as a packed one, and transposed in registers. For many, a block of it at a
// time is transposed to a panel that they share.
template <class Element>
class InPlaceForm final : public PackedMatrix::Form {
 public:
  InPlaceForm(MatrixOf<Element> w, std::shared_ptr<Storage> storage)
      : Form(sizeof(Element) == 2 ? WeightFormat::bf16 : WeightFormat::f32, w.columns, w.rows),
        weight_(w),
        storage_(std::move(storage)) {}

  void multiply(Matrix a, float* c, int64_t c_row_stride, const MatmulOptions& options) const override {
    if (a.rows <= few_rows)
      multiply_few(a, weight_, {c, c_row_stride}, options);
    else
      multiply_many(a, weight_, {c, c_row_stride}, options);
  }
  void copy_column(int64_t column, float* to) const override {
    const Element* from = weight_.data + column * weight_.row_stride;
    for (int64_t k = 0; k < rows(); ++k) {
      if constexpr (sizeof(Element) == 2)
        to[k] = std::bit_cast<float>(uint32_t{from[k]} << 16);
      else
        to[k] = from[k];
    }
  }
  void copy_stored(int64_t column, uint8_t* to) const override {
    std::memcpy(to, weight_.data + column * weight_.row_stride, static_cast<size_t>(rows()) * sizeof(Element));
  }
  int64_t bytes() const override { return 0; }

 private:
  MatrixOf<Element> weight_;
  std::shared_ptr<Storage> storage_;  // holds the weight
};

}  // namespace

PackedMatrix PackedMatrix::in_place(Matrix w, std::shared_ptr<Storage> storage) {
  return PackedMatrix(std::make_shared<InPlaceForm<float>>(w, std::move(storage)));
}
PackedMatrix PackedMatrix::in_place(Bf16Matrix w, std::shared_ptr<Storage> storage) {
  return PackedMatrix(std::make_shared<InPlaceForm<uint16_t>>(w, std::move(storage)));
}

}  // namespace qkv::kernel
