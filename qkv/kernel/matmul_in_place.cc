// Products by a weight as it stands in memory, which was not packed (PackedMatrix::in_place() in matmul.h).
#include <algorithm>
#include <bit>
#include <cstring>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_form.h"
#include "qkv/tensor/storage.h"

namespace qkv::kernel {
namespace {

constexpr int64_t rows_in_registers = 8;  // up to so many are multiplied by a weight in registers

// The columns [first, end) of c.
template <class Element>
void multiply_few(const ProductRows& rows, MatrixOf<Element> w, int64_t first, int64_t end,
                  const MatmulOptions& options) {
  kernels().matmul.rows_of<Element>().multiply({.a = rows.a.data,
                                                .a_row_stride = rows.a.row_stride,
                                                .a_column_stride = rows.a.column_stride,
                                                .rows = rows.a.rows,
                                                .depth = w.columns,
                                                .weight = w.data + first * w.row_stride,
                                                .weight_stride = w.row_stride,
                                                .c = rows.at(first),
                                                .c_row_stride = rows.c_row_stride,
                                                .columns = end - first,
                                                .accumulate = options.accumulate,
                                                .bias = options.bias ? options.bias + first : nullptr,
                                                .relu = options.relu});
}

// The columns [column, column + columns), whose blocks are transposed to panels: the more rows the less that costs. A block
// stays in the second-level cache.
template <class Element>
void multiply_many(const ProductRows& rows, MatrixOf<Element> w, int64_t column, int64_t columns,
                   const MatmulOptions& options) {
  const MatmulKernels& k = kernels().matmul;
  const Matrix& a = rows.a;
  const int64_t K = w.columns, max_depth = std::min<int64_t>(65536 / k.width, K);
  Scratch scratch;
  float* const panel = scratch.floats(max_depth * k.width);
  for (int64_t at = 0; at < K; at += max_depth) {
    const int64_t depth = std::min(max_depth, K - at);
    const bool last = at + depth == K;
    k.rows_of<Element>().transpose(w.data + column * w.row_stride + at, w.row_stride, columns, depth, panel);
    k.f32.multiply({.a = a.data + at * a.column_stride,
                    .a_row_stride = a.row_stride,
                    .a_column_stride = a.column_stride,
                    .a_packed = false,
                    .rows = a.rows,
                    .depth = depth,
                    .panel = panel,
                    .panel_stride = k.width,
                    .c = rows.at(column),
                    .c_row_stride = rows.c_row_stride,
                    .columns = columns,
                    .accumulate = at > 0 || options.accumulate,
                    .bias = last && options.bias ? options.bias + column : nullptr,
                    .relu = last && options.relu});
  }
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

  WorkItems work_items(int64_t a_rows, int64_t together) const override {
    const MatmulKernels& k = kernels().matmul;
    if (a_rows <= rows_in_registers) return grouped(a_rows, a_rows, k.width, 50'000, together);
    const int64_t pieces = ceil_div(a_rows, 32 * k.rows);
    return grouped(a_rows, ceil_div(ceil_div(a_rows, pieces), k.rows) * k.rows, k.width, 50'000, together);
  }
  void multiply(const ProductRows& rows, int64_t first, int64_t end, const MatmulOptions& options) const override {
    const int64_t width = kernels().matmul.width, last = std::min(end * width, columns());
    if (rows.a.rows <= rows_in_registers) return multiply_few(rows, weight_, first * width, last, options);
    for (int64_t column = first * width; column < last; column += width)
      multiply_many(rows, weight_, column, std::min(width, last - column), options);
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
