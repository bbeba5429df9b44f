#include "qkv/kernel/matmul.h"

#include <algorithm>
#include <bit>
#include <type_traits>
#include <utility>

#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/matmul_in_place.h"
#include "qkv/tensor/storage.h"

namespace qkv::kernel {
namespace {

int64_t ceil_div(int64_t n, int64_t parts) { return (n + parts - 1) / parts; }

// A product with K = 0: zero.
void empty_product(float* c, int64_t c_row_stride, int64_t rows, int64_t columns, const MatmulOptions& options) {
  for (int64_t r = 0; r < rows; ++r) {
    float* row = c + r * c_row_stride;
    if (!options.accumulate) std::fill_n(row, columns, 0.0f);
    if (options.bias) kernels().rows.add(row, options.bias, columns, row);
    if (options.relu) kernels().rows.relu(row, columns, row);
  }
}

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

// b as panels, packed into `memory` or in place. In blocks of rows, several panels in turn: a row of a narrow panel
// is a fraction of a cache line, and rows may be far apart.
Panels panels_of(Matrix b, float* memory) {
  const MatmulKernels& k = kernels().matmul;
  // Narrower panels use too little of each cache line; and a partial vector would be read past the end.
  const bool wide = k.width >= 64 && b.columns % kernels().lanes == 0;
  if (wide && b.column_stride == 1 && b.row_stride <= max_stride) return {b.data, k.width, b.row_stride};
  constexpr int64_t block = 32, group = 128;  // rows, columns
  parallel_for(ceil_div(b.columns, group), [&](int64_t item) {
    const int64_t first = item * group, end = std::min(first + group, b.columns);
    for (int64_t row = 0; row < b.rows; row += block)
      for (int64_t column = first; column < end; column += k.width)
        k.f32.pack(b.data + row * b.row_stride + column * b.column_stride, b.row_stride, b.column_stride,
                   std::min(block, b.rows - row), std::min<int64_t>(k.width, end - column),
                   memory + column * b.rows + row * k.width);
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

}  // namespace

struct PackedMatrix::Data {
  std::shared_ptr<Storage> storage;
  int64_t rows, width;             // of a panel
  const void* in_place = nullptr;  // instead of panels: a weight in storage, whose rows are `stride` apart
  int64_t stride = 0;

  template <class Element>
  Element* at(int64_t panel, int64_t row) const {
    return reinterpret_cast<Element*>(storage->data()) + (panel * rows + row) * width;
  }
  template <class Element>
  const Element* column(int64_t i) const {  // its numbers are step() apart
    if (in_place) return static_cast<const Element*>(in_place) + i * stride;
    return at<Element>(i / width, 0) + i % width;
  }
  int64_t step() const { return in_place ? 1 : width; }
};

template <class Element>
std::shared_ptr<const PackedMatrix::Data> PackedMatrix::packed(MatrixOf<Element> b) {
  const MatmulKernels& k = kernels().matmul;
  const int64_t panels = ceil_div(b.columns, k.width), bytes = panels * b.rows * k.width * int64_t{sizeof(Element)};
  const auto data = std::make_shared<Data>(Data{Storage::allocate_to_keep(bytes), b.rows, k.width});
  const int64_t depth = 16384 / k.width, parts = ceil_div(b.rows, depth);
  parallel_for(panels * parts, [&](int64_t i) {
    const int64_t panel = i / parts, row = i % parts * depth, column = panel * k.width;
    k.of<Element>().pack(b.data + row * b.row_stride + column * b.column_stride, b.row_stride, b.column_stride,
                         std::min(depth, b.rows - row), std::min<int64_t>(k.width, b.columns - column),
                         data->template at<Element>(panel, row));
  });
  return data;
}

PackedMatrix::PackedMatrix(Matrix b) : rows_(b.rows), columns_(b.columns), data_(packed(b)) {}
PackedMatrix::PackedMatrix(Bf16Matrix b)
    : rows_(b.rows), columns_(b.columns), format_(WeightFormat::bf16), data_(packed(b)) {}

template <class Element>
PackedMatrix PackedMatrix::placed(MatrixOf<Element> w, std::shared_ptr<Storage> storage) {
  PackedMatrix out;
  out.rows_ = w.columns, out.columns_ = w.rows;
  if constexpr (sizeof(Element) == 2) out.format_ = WeightFormat::bf16;
  out.data_ = std::make_shared<Data>(Data{std::move(storage), w.columns, 0, w.data, w.row_stride});
  return out;
}
PackedMatrix PackedMatrix::in_place(Matrix w, std::shared_ptr<Storage> s) { return placed(w, std::move(s)); }
PackedMatrix PackedMatrix::in_place(Bf16Matrix w, std::shared_ptr<Storage> s) { return placed(w, std::move(s)); }

void PackedMatrix::copy_column(int64_t column, float* to) const {
  const int64_t step = data_->step();
  if (format_ == WeightFormat::bf16) {
    const uint16_t* from = data_->column<uint16_t>(column);
    for (int64_t row = 0; row < rows_; ++row) to[row] = std::bit_cast<float>(uint32_t{from[row * step]} << 16);
    return;
  }
  const float* from = data_->column<float>(column);
  for (int64_t row = 0; row < rows_; ++row) to[row] = from[row * step];
}

void PackedMatrix::copy_column(int64_t column, uint16_t* to) const {
  const uint16_t* from = data_->column<uint16_t>(column);
  const int64_t step = data_->step();
  for (int64_t row = 0; row < rows_; ++row) to[row] = from[row * step];
}

int64_t PackedMatrix::bytes() const { return data_ && !data_->in_place ? data_->storage->bytes() : 0; }

namespace {

// An item of work is a piece of rows by a group of panels: 16 items or more, unless they would cost less than
// handing them out. The larger b is, the more rows share one reading of it; if b is small, few rows keep the piece
// of a in the first-level cache, and one thread writes whole rows of c. Within an item the sum runs in blocks of k,
// so that the block of a panel (at most 256 KiB) stays in the second-level cache for all rows.
//
// The block of a bf16 panel is widened once where many rows share it: in registers it would be widened again for
// every tile of them.
template <class Element>
void multiply_packed(Matrix a, const PackedMatrix& b, Destination c, MatmulOptions options) {
  if (b.data().in_place)
    return multiply_in_place(
        a, MatrixOf<Element>(b.data().column<Element>(0), b.columns(), b.rows(), b.data().stride, 1), c.data,
        c.row_stride, options);
  const MatmulKernels& k = kernels().matmul;
  const int64_t K = a.columns, N = b.columns(), panels = ceil_div(N, k.width);
  const int64_t wanted = std::min(K * N / 8192, a.rows * panels / 64);
  const int64_t max_rows = std::clamp<int64_t>(wanted, 2 * k.rows, 16 * k.rows) / k.rows * k.rows;
  const int64_t rows = ceil_div(ceil_div(a.rows, ceil_div(a.rows, max_rows)), k.rows) * k.rows,
                pieces = ceil_div(a.rows, rows);
  const int64_t work_of_panel = std::min(rows, a.rows) * K * k.width;
  const int64_t group = std::clamp(std::max(pieces * panels / 16, 50'000 / work_of_panel), int64_t{1}, panels);
  const int64_t groups = ceil_div(panels, group);
  const int64_t max_depth = std::min<int64_t>(65536 / k.width, 2048);
  parallel_for(pieces * groups, [&](int64_t item) {
    const int64_t row = item / groups * rows, first = item % groups * group;
    const bool widens = std::is_same_v<Element, uint16_t> && std::min(rows, a.rows - row) >= 4 * k.rows;
    Scratch scratch;
    float* const wide = widens ? scratch.floats(std::min(max_depth, K) * k.width) : nullptr;
    for (int64_t panel = first; panel < std::min(first + group, panels); ++panel) {
      const int64_t column = panel * k.width;
      for (int64_t at = 0; at < K; at += max_depth) {
        const bool last = at + max_depth >= K;
        const auto multiply = [&]<class Number>(const Number* block) {
          k.of<Number>().multiply({.a = a.data + row * a.row_stride + at * a.column_stride,
                                   .a_row_stride = a.row_stride,
                                   .a_column_stride = a.column_stride,
                                   .a_packed = false,
                                   .rows = std::min(rows, a.rows - row),
                                   .depth = std::min(max_depth, K - at),
                                   .panel = block,
                                   .panel_stride = k.width,
                                   .c = c.data + row * c.row_stride + column,
                                   .c_row_stride = c.row_stride,
                                   .columns = std::min<int64_t>(k.width, N - column),
                                   .accumulate = at > 0 || options.accumulate,
                                   .bias = last && options.bias ? options.bias + column : nullptr,
                                   .relu = last && options.relu});
        };
        const Element* block = b.data().at<Element>(panel, at);
        if constexpr (std::is_same_v<Element, uint16_t>) {
          if (widens) {
            k.widen(block, std::min(max_depth, K - at), wide);
            multiply(static_cast<const float*>(wide));
            continue;
          }
        }
        multiply(block);
      }
    }
  });
}

}  // namespace

void matmul(Matrix a, const PackedMatrix& b, float* c, int64_t c_row_stride, MatmulOptions options) {
  if (a.rows == 0 || b.columns() == 0) return;
  if (a.columns == 0) return empty_product(c, c_row_stride, a.rows, b.columns(), options);
  if (b.format() == WeightFormat::bf16)
    multiply_packed<uint16_t>(a, b, {c, c_row_stride}, options);
  else
    multiply_packed<float>(a, b, {c, c_row_stride}, options);
}

// The sum runs in blocks of k, each in two parallel steps: the columns of b are packed once for all items; then
// every item packs its rows of a and multiplies them by the panels. What an item packs stays in the second-level
// cache, and each packed number is used in a hundred multiply-adds or more. Blocks of columns keep the panels in
// the third-level cache.
void matmul(Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  if (a.rows == 0 || b.columns == 0) return;
  if (a.columns == 0) return empty_product(c, c_row_stride, a.rows, b.columns, options);
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

void matmul_batch(MatmulBatch batch, Matrix a, Matrix b, float* c, int64_t c_row_stride, MatmulOptions options) {
  parallel_for(batch.count, [&](int64_t i) {
    Matrix ai = a, bi = b;
    ai.data += i * batch.a_stride, bi.data += i * batch.b_stride;
    matmul(ai, bi, c + i * batch.c_stride, c_row_stride, options);
  });
}

}  // namespace qkv::kernel
