// Products by packed matrices: what of them does not depend on the number format.
#include <algorithm>
#include <array>
#include <cmath>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_form.h"

namespace qkv::kernel {
namespace {

// Rows of a, quantised into scratch memory.
QuantizedRows quantized_rows(Matrix a, const RowQuantization& how, Scratch& scratch) {
  const int64_t K = ceil_div(a.columns, how.depth) * how.depth, stride = ceil_div(K, step_bytes) * step_bytes;
  const int64_t scales = K / how.depth, groups = K / how.group;
  const auto bytes_of = [&](int64_t numbers) { return scratch.floats(ceil_div(numbers, 4)); };
  const QuantizedRows out = {.numbers = reinterpret_cast<int8_t*>(bytes_of(a.rows * stride)),
                             .stride = stride,
                             .scales = scratch.floats(a.rows * scales),
                             .offsets = reinterpret_cast<int32_t*>(scratch.floats(a.rows * groups)),
                             .sums = scratch.floats(a.rows * groups),
                             .group_stride = a.rows};
  parallel_ranges(a.rows, std::max<int64_t>(1, 32768 / K), [&](int64_t begin, int64_t end) {
    Scratch own;
    float* const copy = a.column_stride == 1 ? nullptr : own.floats(a.columns);
    for (int64_t r = begin; r < end; ++r) {
      const float* x = a.data + r * a.row_stride;
      if (copy) {
        for (int64_t k = 0; k < a.columns; ++k) copy[k] = x[k * a.column_stride];
        x = copy;
      }
      kernels().quantized.quantize(x, a.columns, how.depth, static_cast<int>(how.group), how.zero,
                                   out.numbers + r * stride, out.scales + r, out.offsets + r, out.sums + r, a.rows);
    }
  });
  return out;
}

QuantizedRows rows_from(QuantizedRows a, int64_t row) {
  a.numbers += row * a.stride;
  a.scales += row, a.offsets += row, a.sums += row;
  return a;
}

// A product of those that run together.
struct Part {
  const Product* product = nullptr;
  int64_t first_row = 0;  // of c
  WorkItems items = {};
  const QuantizedRows* numbers = nullptr;  // of the form's quantization, or null

  void run(Matrix a, int64_t item) const {
    const int64_t row = item / items.groups() * items.rows, first = item % items.groups() * items.group;
    Matrix piece = a;
    piece.data += row * a.row_stride, piece.rows = std::min(items.rows, a.rows - row);
    product->b.form().multiply({.a = piece,
                                .numbers = numbers ? rows_from(*numbers, row) : QuantizedRows{},
                                .c = product->c + (first_row + row) * product->c_row_stride,
                                .c_row_stride = product->c_row_stride},
                               first, std::min(first + items.group, items.panels), product->options);
  }
};

constexpr size_t max_together = 4;

// All rows of a, or a block of them where they are quantised.
void multiply_block(Matrix a, std::span<const Product> products, int64_t first_row) {
  Scratch scratch;
  std::array<Part, max_together> parts = {};
  std::array<QuantizedRows, max_together> numbers = {};
  int64_t items = 0;
  double cost = 0;
  for (size_t i = 0; i < products.size(); ++i) {
    const PackedMatrix::Form& form = products[i].b.form();
    parts[i] = {&products[i], first_row, form.work_items(a.rows, std::ssize(products)), nullptr};
    items += parts[i].items.count();
    cost += static_cast<double>(parts[i].items.count()) * parts[i].items.cost;
    const std::optional<RowQuantization> how = form.quantization();
    if (!how) continue;
    for (size_t j = 0; j < i && !parts[i].numbers; ++j)
      if (products[j].b.form().quantization() == how) parts[i].numbers = parts[j].numbers;
    if (parts[i].numbers) continue;
    numbers[i] = quantized_rows(a, *how, scratch);
    parts[i].numbers = &numbers[i];
  }
  if (items == 0) return;  // no columns
  // Items that are too small to be handed out one by one are handed out together.
  const int64_t wanted = std::llround(cost), team = threads();
  const int64_t runs = std::clamp<int64_t>(wanted > 1 ? rounded_up(wanted, team) : 1, 1, items);
  parallel_for(runs, [&](int64_t run) {
    int64_t before = 0;  // items of the parts before
    for (size_t i = 0; i < products.size(); before += parts[i++].items.count()) {
      const int64_t count = parts[i].items.count();
      const int64_t begin = std::max<int64_t>(items * run / runs - before, 0);
      const int64_t end = std::min(items * (run + 1) / runs - before, count);
      for (int64_t item = begin; item < end; ++item) parts[i].run(a, item);
    }
  });
}

// Quantised rows of a long prompt would leave the caches before they are used.
void multiply_together(Matrix a, std::span<const Product> products) {
  const bool are_floats = std::none_of(products.begin(), products.end(),
                                       [](const Product& p) { return p.b.form().quantization().has_value(); });
  const int64_t max_rows = are_floats ? a.rows : 512;
  for (int64_t row = 0; row < a.rows; row += max_rows) {
    Matrix block = a;
    block.data += row * a.row_stride, block.rows = std::min(max_rows, a.rows - row);
    multiply_block(block, products, row);
  }
}

}  // namespace

WorkItems PackedMatrix::Form::grouped(int64_t a_rows, int64_t rows, int64_t width, int64_t min_work,
                                      int64_t together, int64_t max_items) const {
  const int64_t pieces = ceil_div(a_rows, rows), panels = ceil_div(columns_, width);
  if (panels == 0) return {};
  // Of few rows the time is that of reading the panel.
  constexpr int64_t rows_of_reading = 8;
  const int64_t work_of_panel = std::max(std::min(rows, a_rows), rows_of_reading) * rows_ * width;
  const int64_t min_panels = std::clamp(
      std::max(pieces * panels / max_items, ceil_div(min_work, work_of_panel * together)), int64_t{1}, panels);
  const int64_t group = ceil_div(panels, panels / min_panels);  // of about the same size
  return {.rows = rows,
          .pieces = pieces,
          .group = group,
          .panels = panels,
          .width = width,
          .cost = static_cast<double>(group * work_of_panel) / static_cast<double>(min_work)};
}

int64_t PackedMatrix::rows() const { return form_ ? form_->rows() : 0; }
int64_t PackedMatrix::columns() const { return form_ ? form_->columns() : 0; }
WeightFormat PackedMatrix::format() const { return form_ ? form_->format() : WeightFormat::f32; }
WeightFormat PackedMatrix::arithmetic() const { return form_ ? form_->arithmetic() : WeightFormat::f32; }
int64_t PackedMatrix::bytes() const { return form_ ? form_->bytes() : 0; }
void PackedMatrix::copy_column(int64_t column, float* to) const { form_->copy_column(column, to); }
void PackedMatrix::copy_stored(int64_t column, uint8_t* to) const { form_->copy_stored(column, to); }

void matmul(Matrix a, std::span<const Product> products) {
  if (a.rows == 0) return;
  if (a.columns == 0) {
    for (const Product& p : products) empty_product(p.c, p.c_row_stride, a.rows, p.b.columns(), p.options);
    return;
  }
  for (; !products.empty(); products = products.subspan(std::min(max_together, products.size())))
    multiply_together(a, products.first(std::min(max_together, products.size())));
}

void matmul(Matrix a, const PackedMatrix& b, float* c, int64_t c_row_stride, MatmulOptions options) {
  const Product product = {b, c, c_row_stride, options};
  matmul(a, std::span(&product, 1));
}

namespace {

// Rows that stay in the second-level cache with a block of their columns.
constexpr int64_t rows_of_block = 64;

void multiply_in_blocks(Matrix a, int64_t first_row, const PackedMatrix::Form& form, const MatmulOptions& options,
                        int parts, FunctionRef<void(const ProductBlock&)> take) {
  Scratch scratch;
  const std::optional<RowQuantization> how = form.quantization();
  const QuantizedRows numbers = how ? quantized_rows(a, *how, scratch) : QuantizedRows{};
  const int64_t blocks = ceil_div(form.columns(), block_columns);
  parallel_for(parts, [&](int64_t part) {
    Scratch own;
    float* const c = own.floats(std::min(a.rows, rows_of_block) * block_columns);
    for (int64_t i = blocks * part / parts; i < blocks * (part + 1) / parts; ++i)
      for (int64_t row = 0; row < a.rows; row += rows_of_block) {
        const int64_t column = i * block_columns, columns = std::min(block_columns, form.columns() - column);
        Matrix piece = a;
        piece.data += row * a.row_stride, piece.rows = std::min(rows_of_block, a.rows - row);
        const int64_t width = form.work_items(piece.rows, 1).width;
        form.multiply({.a = piece,
                       .numbers = how ? rows_from(numbers, row) : numbers,
                       .c = c,
                       .c_row_stride = block_columns,
                       .c_column = column},
                      column / width, ceil_div(column + columns, width), options);
        take({.part = static_cast<int>(part),
              .first_row = first_row + row,
              .rows = piece.rows,
              .first_column = column,
              .columns = columns,
              .c = c,
              .c_row_stride = block_columns});
      }
  });
}

}  // namespace

void matmul_in_blocks(Matrix a, const PackedMatrix& b, const MatmulOptions& options, int parts,
                      FunctionRef<void(const ProductBlock&)> take) {
  // As many rows as stay in the second-level cache when they are quantised.
  constexpr int64_t max_rows = 512;
  for (int64_t row = 0; row < a.rows; row += max_rows) {
    Matrix rows = a;
    rows.data += row * a.row_stride, rows.rows = std::min(max_rows, a.rows - row);
    multiply_in_blocks(rows, row, b.form(), options, parts, take);
  }
}

}  // namespace qkv::kernel
