// A right-hand side of products in one number format: what PackedMatrix (matmul.h) holds.
//
// | form                            | formats         | products                                  |
// | panels, packed_panels.cc        | f32, bf16       | chains of multiply-adds                   |
// | in place, matmul_in_place.cc    | f32, bf16       | the same bits, from the rows of a weight  |
// | quantised, quantized_matrix.cc  | int8, blocks    | sums of integers                          |
#pragma once

#include "qkv/kernel/matmul.h"

namespace qkv::kernel {

class PackedMatrix::Form {
 public:
  Form(WeightFormat format, int64_t rows, int64_t columns) : format_(format), rows_(rows), columns_(columns) {}
  virtual ~Form() = default;
  Form(const Form&) = delete;
  Form& operator=(const Form&) = delete;

  WeightFormat format() const { return format_; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // c = a b with the options; a has at least one row and one column.
  virtual void multiply(Matrix a, float* c, int64_t c_row_stride, const MatmulOptions& options) const = 0;
  virtual void copy_column(int64_t column, float* to) const = 0;
  virtual void copy_stored(int64_t column, uint8_t* to) const = 0;
  virtual int64_t bytes() const = 0;

 private:
  WeightFormat format_;
  int64_t rows_, columns_;
};

}  // namespace qkv::kernel
