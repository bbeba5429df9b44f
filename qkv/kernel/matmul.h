// Matrix products: c (M x N) = a (M x K) b (K x N) [+ bias] [relu], row-major floats.
//
//     PackedMatrix w({weight, out, in}.transposed());                 // the weight is (out x in)
//     matmul({x, tokens, in}, w, y, out, {.bias = bias});             // y = x W^T + bias
//     matmul(Matrix(dy, tokens, out).transposed(), {x, tokens, in}, dw, in);              // dW = dY^T X
//
// Calls run in parallel inside (base/threads.h). An element of c is one chain of multiply-adds over k, in order
// (matmul_kernels.h), so
// - no result depends on the number of threads or on the instruction set (kernels.h),
// - a row of a product has the same bits for any M and any row index, packed or not.
//
// A weight may be packed as bf16, which halves its memory and the time to read it. The product has the same bits as
// one by the rounded weight held as floats.
//
// Training with bf16 products rounds both factors, where the processor has instructions for that and elsewhere too:
//
//     matmul(a, PackedMatrix::rounded(b), c, n);          // sums of floats, in an order that depends on the instruction set
//
// Several products of the same a are one call, in any formats:
//
//     const Product products[] = {{.b = query, .c = q, .c_row_stride = out}, {.b = key, .c = k, .c_row_stride = out}};
//     matmul({x, tokens, in}, products);
//
// A weight (out x in) may also be used where it is, such as in a mapped file, without a copy:
//
//     PackedMatrix w = PackedMatrix::in_place(Bf16Matrix(weight, out, in), storage);      // the same bits
//
// K and N are at least 1, M may be 0. Arguments are not checked: the ops that call it have checked them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "qkv/base/threads.h"
#include "qkv/kernel/weight_format.h"

namespace qkv {
class Storage;
}

namespace qkv::kernel {

// A view: element (i, j) is data[i * row_stride + j * column_stride]; one of the two strides is 1.
template <class Element>
struct MatrixOf {
  const Element* data = nullptr;
  int64_t rows = 0, columns = 0;
  int64_t row_stride = 0, column_stride = 0;

  MatrixOf(const Element* at, int64_t r, int64_t c) : MatrixOf(at, r, c, c, 1) {}
  MatrixOf(const Element* at, int64_t r, int64_t c, int64_t row, int64_t column)
      : data(at), rows(r), columns(c), row_stride(row), column_stride(column) {}
  MatrixOf transposed() const { return {data, columns, rows, column_stride, row_stride}; }
};
using Matrix = MatrixOf<float>;
using Bf16Matrix = MatrixOf<uint16_t>;

// A right-hand side in the layout of the kernels. Immutable and cheap to copy: copies share the memory, and any
// number of threads may use it at the same time.
class PackedMatrix {
 public:
  class Form;  // of a number format: packed_form.h

  PackedMatrix() = default;             // empty: rows() is 0
  explicit PackedMatrix(Matrix b);      // as f32
  explicit PackedMatrix(Bf16Matrix b);  // as bf16
  // For products whose factors are both rounded to bf16 (packed_rounded.cc). They are twice as fast with AVX512_BF16, and
  // more with AMX; their bits depend on the instruction set, not on threads or neighboring rows.
  static PackedMatrix rounded(Matrix b);
  explicit PackedMatrix(std::shared_ptr<const Form> form) : form_(std::move(form)) {}
  // The transpose of w, whose column_stride is 1, not packed. The storage holds w, which must not change.
  static PackedMatrix in_place(Matrix w, std::shared_ptr<Storage> storage);
  static PackedMatrix in_place(Bf16Matrix w, std::shared_ptr<Storage> storage);

  int64_t rows() const;
  int64_t columns() const;
  WeightFormat format() const;
  WeightFormat arithmetic() const;  // the numbers that products are computed from: f32, bf16 or int8
  int64_t bytes() const;            // of the packed copy; 0 of a weight in place
  // The rows() numbers of a column, as the product uses them.
  void copy_column(int64_t column, float* to) const;
  // The same as the format stores them, without loss: row_bytes(format(), rows()) bytes.
  void copy_stored(int64_t column, uint8_t* to) const;

  const Form& form() const { return *form_; }

 private:
  std::shared_ptr<const Form> form_;
};

struct MatmulOptions {
  const float* bias = nullptr;  // (N), added to every row
  bool accumulate = false;      // c += instead of c =; not together with relu
  bool relu = false;            // c = max(0, a b + bias)
};

void matmul(Matrix a, const PackedMatrix& b, float* c, int64_t c_row_stride, MatmulOptions options = {});
// One of several products of the same a, which have the bits that each has alone. They are one parallel region, and rows
// that formats quantise in the same way are quantised once.
struct Product {
  PackedMatrix b = {};
  float* c = nullptr;
  int64_t c_row_stride = 0;
  MatmulOptions options = {};
};
void matmul(Matrix a, std::span<const Product> products);

// A product of which no more than a block is in memory at a time: rows [first_row, first_row + rows) by columns
// [first_column, first_column + columns). The columns are cut at multiples of block_columns.
inline constexpr int64_t block_columns = 512;
struct ProductBlock {
  int part;
  int64_t first_row, rows, first_column, columns;
  float* c;  // which take() may change
  int64_t c_row_stride;
};
// Calls take() for every block. The columns are cut into parts, of which several may be taken at a time: those of a part
// come in order. The elements have the bits that matmul() gives them.
void matmul_in_blocks(Matrix a, const PackedMatrix& b, const MatmulOptions& options, int parts,
                      FunctionRef<void(const ProductBlock&)> take);

void matmul(Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options = {});
// count products of one shape: a, b and c of product i are i strides (in elements) after those of product 0. A
// stride of 0 in a or b shares the factor.
struct MatmulBatch {
  int64_t count;
  int64_t a_stride, b_stride, c_stride;
};
void matmul_batch(MatmulBatch batch, Matrix a, Matrix b, float* c, int64_t c_row_stride,
                  MatmulOptions options = {});

}  // namespace qkv::kernel
