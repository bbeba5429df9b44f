// A right-hand side of products in one number format: what PackedMatrix (matmul.h) holds.
//
// | form                            | formats         | products                                  |
// | panels, packed_panels.cc        | f32, bf16       | chains of multiply-adds                   |
// | rounded, packed_rounded.cc      | bf16            | both factors rounded, by its instructions |
// | in place, matmul_in_place.cc    | f32, bf16       | the same bits, from the rows of a weight  |
// | quantised, quantized_matrix.cc  | int8, blocks    | sums of integers                          |
#pragma once

#include <optional>

#include "qkv/base/integers.h"
#include "qkv/kernel/matmul.h"
#include "qkv/kernel/quantized_kernels.h"

namespace qkv::kernel {

// How a form has the rows of a quantised: products that agree in this share them.
struct RowQuantization {
  int64_t depth;  // numbers that share a scale: a multiple of 32
  int64_t group;  // numbers that share an offset
  int zero;
  friend bool operator==(const RowQuantization&, const RowQuantization&) = default;
};

// Some rows of a and of c, as an item of work takes them. Row 0 of `numbers` is that of a; null where the form is
// one of floats.
struct ProductRows {
  Matrix a;
  QuantizedRows numbers = {};
  float* c = nullptr;
  int64_t c_row_stride = 0;
  int64_t c_column = 0;  // the column that c begins with

  float* at(int64_t column) const { return c + (column - c_column); }
};

// The items of work of a product: a piece of the rows by a group of panels each, in any order and in parallel.
struct WorkItems {
  int64_t rows = 0, pieces = 0;   // rows of a piece
  int64_t group = 1, panels = 0;  // panels of a group, and of all
  int64_t width = 0;              // columns of a panel: a divisor of block_columns
  double cost = 0;                // of an item: 1 is worth handing out to a thread
  int64_t groups() const { return ceil_div(panels, group); }
  int64_t count() const { return pieces * groups(); }
};

class PackedMatrix::Form {
 public:
  Form(WeightFormat format, int64_t rows, int64_t columns) : format_(format), rows_(rows), columns_(columns) {}
  virtual ~Form() = default;
  Form(const Form&) = delete;
  Form& operator=(const Form&) = delete;

  WeightFormat format() const { return format_; }
  virtual WeightFormat arithmetic() const { return is_quantized(format_) ? WeightFormat::int8 : WeightFormat::f32; }
  int64_t rows() const { return rows_; }
  int64_t columns() const { return columns_; }

  // Of a product with at least one row and one column. It is one of `together` products that run at the same time,
  // and so its items may be smaller.
  virtual WorkItems work_items(int64_t a_rows, int64_t together) const = 0;
  virtual std::optional<RowQuantization> quantization() const { return {}; }
  // The panels [first, end) of c = a b with the options.
  virtual void multiply(const ProductRows& rows, int64_t first, int64_t end,
                        const MatmulOptions& options) const = 0;
  virtual void copy_column(int64_t column, float* to) const = 0;
  virtual void copy_stored(int64_t column, uint8_t* to) const = 0;
  virtual int64_t bytes() const = 0;

 protected:
  // Groups of panels for which an item has at least `min_work` multiply-adds, divided among products that run together;
  // and larger ones where there would be more than about `max_items`.
  WorkItems grouped(int64_t a_rows, int64_t rows, int64_t width, int64_t min_work, int64_t together,
                    int64_t max_items = default_max_items) const;
  static constexpr int64_t default_max_items = 16;

 private:
  WeightFormat format_;
  int64_t rows_, columns_;
};

// A product with K = 0: zero.
void empty_product(float* c, int64_t c_row_stride, int64_t rows, int64_t columns, const MatmulOptions& options);

}  // namespace qkv::kernel
