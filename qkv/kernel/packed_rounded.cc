// Products of factors that are rounded to bf16, with sums of floats: those of training with --precision bf16.
#include "qkv/kernel/packed_rounded.h"

#include <algorithm>
#include <bit>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_form.h"
#include "qkv/tensor/storage.h"

namespace qkv::kernel {
namespace {

constexpr int64_t max_rows = 128;   // of a piece of a, which stays in the second-level cache
constexpr int64_t max_depth = 256;  // units of two numbers: what the kernels of AMX take at a time
constexpr int64_t items_of_thread = 2;

uint16_t* shorts(Scratch& scratch, int64_t count) {
  return reinterpret_cast<uint16_t*>(scratch.floats(ceil_div(count, 2)));
}

// By instructions for bf16. b is held in panels of units (attention_kernels.h): row u of a panel has the numbers of rows 2u
// and 2u + 1 of b.
class RoundedForm final : public PackedMatrix::Form {
 public:
  template <class Element>
  explicit RoundedForm(MatrixOf<Element> b)
      : Form(WeightFormat::bf16, b.rows, b.columns),
        width_(kernels().matmul.width),
        units_(ceil_div(b.rows, 2)),
        storage_(Storage::allocate(rounded_up(b.columns, width_) * units_ * int64_t{sizeof(float)})) {
    const int64_t parts = ceil_div(units_, max_depth);
    parallel_for(ceil_div(b.columns, width_) * parts, [&](int64_t i) {
      const int64_t panel = i / parts, unit = i % parts * max_depth;
      MatrixOf<Element> block = b;
      block.data += 2 * unit * b.row_stride + panel * width_ * b.column_stride;
      block.rows = std::min(2 * max_depth, b.rows - 2 * unit);
      block.columns = std::min(width_, b.columns - panel * width_);
      pack(block, at_panel(panel, unit));
    });
  }

  WeightFormat arithmetic() const override { return WeightFormat::bf16; }
  WorkItems work_items(int64_t a_rows, int64_t together) const override {
    // Each thread gets the same number of pieces: with one more, the others would wait for it.
    const int64_t needed = ceil_div(a_rows, max_rows), multiple = kernels().matmul.rows;
    const int64_t pieces = needed == 1 ? 1 : rounded_up(needed, threads());
    // Each item rounds its piece of a: no more of them than keep the threads busy.
    const int64_t busy = threads() == 1 ? 1 : items_of_thread * threads(),
                  max_items = std::min(default_max_items, busy);
    return grouped(a_rows, rounded_up(ceil_div(a_rows, pieces), multiple), width_, 100'000, together, max_items);
  }

  void multiply(const ProductRows& rows, int64_t first, int64_t end, const MatmulOptions& options) const override;

  void copy_column(int64_t column, float* to) const override {
    const float* const first = at_panel(column / width_, 0) + column % width_;
    for (int64_t row = 0; row < rows(); row += 2) {
      const auto unit = std::bit_cast<uint32_t>(first[row / 2 * width_]);
      to[row] = std::bit_cast<float>(unit << 16);
      if (row + 1 < rows()) to[row + 1] = std::bit_cast<float>(unit & 0xffff0000);
    }
  }
  void copy_stored(int64_t column, uint8_t* to) const override {
    for (int64_t row = 0; row < rows(); ++row) {
      const uint16_t bits = number(row, column);
      to[2 * row] = static_cast<uint8_t>(bits & 0xff), to[2 * row + 1] = static_cast<uint8_t>(bits >> 8);
    }
  }
  int64_t bytes() const override { return storage_->bytes(); }

 private:
  float* at_panel(int64_t panel, int64_t unit) const {
    return reinterpret_cast<float*>(storage_->data()) + (panel * units_ + unit) * width_;
  }
  uint16_t number(int64_t row, int64_t column) const {
    const auto unit = std::bit_cast<uint32_t>(at_panel(column / width_, row / 2)[column % width_]);
    return static_cast<uint16_t>(row % 2 ? unit >> 16 : unit & 0xffff);
  }

  void pack(const Bf16Matrix& b, float* panel) const {
    kernels().attention.bf16->interleave(b.data, b.row_stride, b.rows, b.columns, panel, width_);
  }
  void pack(const Matrix& b, float* panel) const {
    if (b.column_stride != 1) return pack_columns(b, panel);
    kernels().attention.bf16->interleave_rounded(b.data, b.row_stride, b.rows, b.columns, panel, width_);
  }

  // A column of b is a row in memory, whose units lie side by side.
  void pack_columns(const Matrix& b, float* panel) const {
    const int64_t units = ceil_div(b.rows, 2);
    Scratch scratch;
    float* const columns = scratch.floats(b.columns * units);
    for (int64_t n = 0; n < b.columns; ++n) {
      auto* const to = reinterpret_cast<uint16_t*>(columns + n * units);
      to[2 * units - 1] = 0;
      kernels().attention.bf16->round(b.data + n * b.column_stride, b.rows, to);
    }
    kernels().matmul.f32.pack(columns, 1, units, units, b.columns, panel);
  }

  int64_t width_, units_;
  std::shared_ptr<Storage> storage_;
};

// Rows of a as a product of units takes them.
struct Factor {
  const float* data;
  int64_t row_stride, column_stride;
};

// `depth` units of the rows of a, rounded; a has the numbers of these units alone.
Factor rounded_rows(const Matrix& a, int64_t depth, Scratch& scratch) {
  const Bf16Kernels& k = *kernels().attention.bf16;
  float* const units = scratch.floats(a.rows * depth);
  if (a.column_stride == 1) {
    for (int64_t r = 0; r < a.rows; ++r) {
      auto* const to = reinterpret_cast<uint16_t*>(units + r * depth);
      to[2 * depth - 1] = 0;
      k.round(a.data + r * a.row_stride, a.columns, to);
    }
    return {units, depth, 1};
  }
  const int64_t width = rounded_up(a.rows, kernels().lanes);
  float* const columns = scratch.floats(depth * width);
  k.interleave_rounded(a.data, a.column_stride, a.columns, a.rows, columns, width);
  if (!k.columns_as_rows) return {columns, 1, width};
  for (int64_t r = 0; r < a.rows; ++r)
    for (int64_t u = 0; u < depth; ++u) units[r * depth + u] = columns[u * width + r];
  return {units, depth, 1};
}

void RoundedForm::multiply(const ProductRows& rows, int64_t first, int64_t end,
                           const MatmulOptions& options) const {
  const Bf16Kernels& k = *kernels().attention.bf16;
  const RowKernels& row_kernels = kernels().rows;
  const int64_t M = rows.a.rows;
  k.begin();
  for (int64_t unit = 0; unit < units_; unit += max_depth) {
    const int64_t depth = std::min(max_depth, units_ - unit);
    const bool adds = unit > 0 || options.accumulate;
    Scratch scratch;
    Matrix part = rows.a;
    part.data += 2 * unit * part.column_stride;
    part.columns = std::min(2 * depth, part.columns - 2 * unit);
    const Factor a = rounded_rows(part, depth, scratch);
    float* const edge = scratch.floats(M * width_);  // of columns that are not whole vectors
    for (int64_t panel = first; panel < end; ++panel) {
      const int64_t columns_here = std::min(width_, columns() - panel * width_);
      float* const c = rows.at(panel * width_);
      const bool whole = columns_here % kernels().lanes == 0;
      const TileProduct product = {.a = a.data,
                                   .a_row_stride = a.row_stride,
                                   .a_column_stride = a.column_stride,
                                   .b = at_panel(panel, unit),
                                   .b_row_stride = width_,
                                   .c = whole ? c : edge,
                                   .c_row_stride = whole ? rows.c_row_stride : width_,
                                   .rows = M,
                                   .width = rounded_up(columns_here, kernels().lanes),
                                   .depth = depth,
                                   .bias = whole && !adds && options.bias ? options.bias + panel * width_ : nullptr,
                                   .next = at_panel(panel + 1, unit)};
      if (whole && adds)
        k.products.add(product);
      else
        k.products.overwrite(product);
      for (int64_t r = 0; r < M && !whole; ++r) {
        float* const to = c + r * rows.c_row_stride;
        if (adds)
          row_kernels.add(to, edge + r * width_, columns_here, to);
        else if (options.bias)
          row_kernels.add(options.bias + panel * width_, edge + r * width_, columns_here, to);
        else
          std::copy_n(edge + r * width_, columns_here, to);
      }
    }
  }
  k.end();
  const bool late_bias = options.bias && options.accumulate;
  if (!late_bias && !options.relu) return;
  const int64_t column = first * width_, count = std::min(end * width_, columns()) - column;
  for (int64_t r = 0; r < M; ++r) {
    float* const c = rows.at(column) + r * rows.c_row_stride;
    if (late_bias) row_kernels.add(c, options.bias + column, count, c);
    if (options.relu) row_kernels.relu(c, count, c);
  }
}

// The rows or columns of a matrix, whichever lie side by side in memory.
struct Lines {
  const float* data;
  bool are_rows;
  int64_t count, length, stride;

  explicit Lines(const Matrix& m)
      : data(m.data),
        are_rows(m.column_stride == 1),
        count(are_rows ? m.rows : m.columns),
        length(are_rows ? m.columns : m.rows),
        stride(are_rows ? m.row_stride : m.column_stride) {}
  const float* at(int64_t line) const { return data + line * stride; }
};

// By instructions for floats, of the rounded numbers, on a processor that has none for bf16.
class RoundedFloatsForm final : public PackedMatrix::Form {
 public:
  explicit RoundedFloatsForm(Matrix b) : Form(WeightFormat::bf16, b.rows, b.columns), panels_(rounded(b)) {}
  explicit RoundedFloatsForm(Bf16Matrix b) : Form(WeightFormat::bf16, b.rows, b.columns), panels_(b) {}

  WeightFormat arithmetic() const override { return WeightFormat::bf16; }
  WorkItems work_items(int64_t a_rows, int64_t together) const override {
    return panels_.form().work_items(a_rows, together);
  }
  void multiply(const ProductRows& rows, int64_t first, int64_t end, const MatmulOptions& options) const override {
    const Lines a(rows.a);
    Scratch scratch;
    float* const numbers = scratch.floats(a.count * a.length);
    uint16_t* const bits = shorts(scratch, a.length);
    for (int64_t line = 0; line < a.count; ++line) {
      kernels().rows.round_to_nearest(a.at(line), a.length, bits);
      kernels().rows.widen(bits, a.length, numbers + line * a.length);
    }
    ProductRows of_rounded = rows;
    const Matrix lines(numbers, a.count, a.length);
    of_rounded.a = a.are_rows ? lines : lines.transposed();
    panels_.form().multiply(of_rounded, first, end, options);
  }
  void copy_column(int64_t column, float* to) const override { panels_.copy_column(column, to); }
  void copy_stored(int64_t column, uint8_t* to) const override { panels_.copy_stored(column, to); }
  int64_t bytes() const override { return panels_.bytes(); }

 private:
  static PackedMatrix rounded(const Matrix& b) {
    const Lines lines(b);
    const std::shared_ptr<Storage> storage =
        Storage::allocate(lines.count * lines.length * int64_t{sizeof(uint16_t)});
    auto* const bits = reinterpret_cast<uint16_t*>(storage->data());
    parallel_ranges(lines.count, ceil_div(int64_t{16384}, lines.length), [&](int64_t begin, int64_t end) {
      for (int64_t line = begin; line < end; ++line)
        kernels().rows.round_to_nearest(lines.at(line), lines.length, bits + line * lines.length);
    });
    const Bf16Matrix matrix(bits, lines.count, lines.length);
    return PackedMatrix(lines.are_rows ? matrix : matrix.transposed());
  }

  PackedMatrix panels_;
};

template <class Element>
PackedMatrix rounded_form(MatrixOf<Element> b) {
  if (kernels().attention.bf16) return PackedMatrix(std::make_shared<RoundedForm>(b));
  return PackedMatrix(std::make_shared<RoundedFloatsForm>(b));
}

}  // namespace

PackedMatrix PackedMatrix::rounded(Matrix b) { return rounded_form(b); }

PackedMatrix packed_rounded(Bf16Matrix b) { return rounded_form(b); }

}  // namespace qkv::kernel
