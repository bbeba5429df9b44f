#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_form.h"
#include "qkv/tensor/storage.h"

namespace qkv::kernel {
namespace {

// f32 or bf16 numbers as panels of the kernels' width.
template <class Element>
class PanelForm final : public PackedMatrix::Form {
 public:
  explicit PanelForm(MatrixOf<Element> b)
      : Form(sizeof(Element) == 2 ? WeightFormat::bf16 : WeightFormat::f32, b.rows, b.columns),
        width_(kernels().matmul.width),
        storage_(Storage::allocate(ceil_div(b.columns, width_) * b.rows * width_ * int64_t{sizeof(Element)})) {
    pack(b);
  }

  WorkItems work_items(int64_t a_rows, int64_t together) const override;
  void multiply(const ProductRows& rows, int64_t first, int64_t end, const MatmulOptions& options) const override;

  void copy_column(int64_t column, float* to) const override {
    const Element* from = at_panel(column / width_, 0) + column % width_;
    for (int64_t row = 0; row < rows(); ++row) {
      const Element number = from[row * width_];
      if constexpr (sizeof(Element) == 2)
        to[row] = std::bit_cast<float>(uint32_t{number} << 16);
      else
        to[row] = number;
    }
  }
  void copy_stored(int64_t column, uint8_t* to) const override {
    const Element* from = at_panel(column / width_, 0) + column % width_;
    for (int64_t row = 0; row < rows(); ++row)
      std::memcpy(to + row * int64_t{sizeof(Element)}, from + row * width_, sizeof(Element));
  }
  int64_t bytes() const override { return storage_->bytes(); }

 private:
  Element* at_panel(int64_t panel, int64_t row) const {
    return reinterpret_cast<Element*>(storage_->data()) + (panel * rows() + row) * width_;
  }
  void pack(MatrixOf<Element> b);

  int64_t width_;
  std::shared_ptr<Storage> storage_;
};

template <class Element>
void PanelForm<Element>::pack(MatrixOf<Element> b) {
  const int64_t panels = ceil_div(b.columns, width_), depth = 16384 / width_, parts = ceil_div(b.rows, depth);
  parallel_for(panels * parts, [&](int64_t i) {
    const int64_t panel = i / parts, row = i % parts * depth, column = panel * width_;
    kernels().matmul.of<Element>().pack(b.data + row * b.row_stride + column * b.column_stride, b.row_stride,
                                        b.column_stride, std::min(depth, b.rows - row),
                                        std::min(width_, b.columns - column), at_panel(panel, row));
  });
}

// 16 items or more, unless they would cost less than handing them out. The larger b is, the more rows share one reading of
// it, at least so many that multiplying them takes longer than reading it from memory; if b is small, few rows keep the
// piece of a in the first-level cache, and one thread writes whole rows of c.
template <class Element>
WorkItems PanelForm<Element>::work_items(int64_t a_rows, int64_t together) const {
  const MatmulKernels& k = kernels().matmul;
  const int64_t K = rows(), N = columns();
  const int64_t wanted = std::min(K * N / 8192, a_rows * ceil_div(N, k.width) / 64);
  constexpr int64_t second_level_cache = 512 * 1024;
  const int64_t min_rows = K * N * int64_t{sizeof(Element)} > second_level_cache ? 8 * k.rows : 2 * k.rows;
  const int64_t max_rows = std::clamp<int64_t>(wanted, min_rows, 16 * k.rows) / k.rows * k.rows;
  return grouped(a_rows, ceil_div(ceil_div(a_rows, ceil_div(a_rows, max_rows)), k.rows) * k.rows, k.width, 50'000,
                 together);
}

// The sum runs in blocks of k, so that the block of a panel (at most 256 KiB) stays in the second-level cache for all rows.
//
// The block of a bf16 panel is widened once where many rows share it: in registers it would be widened again for
// every tile of them.
template <class Element>
void PanelForm<Element>::multiply(const ProductRows& rows, int64_t first, int64_t end,
                                  const MatmulOptions& options) const {
  const MatmulKernels& k = kernels().matmul;
  const Matrix& a = rows.a;
  const int64_t K = a.columns, max_depth = std::min<int64_t>(65536 / k.width, 2048);
  const bool widens = std::is_same_v<Element, uint16_t> && a.rows >= 4 * k.rows;
  Scratch scratch;
  float* const wide = widens ? scratch.floats(std::min(max_depth, K) * k.width) : nullptr;
  for (int64_t panel = first; panel < end; ++panel) {
    const int64_t column = panel * k.width;
    for (int64_t at = 0; at < K; at += max_depth) {
      const bool last = at + max_depth >= K;
      const auto multiply_block = [&]<class Number>(const Number* block, const Number* next) {
        k.of<Number>().multiply({.a = a.data + at * a.column_stride,
                                 .a_row_stride = a.row_stride,
                                 .a_column_stride = a.column_stride,
                                 .a_packed = false,
                                 .rows = a.rows,
                                 .depth = std::min(max_depth, K - at),
                                 .panel = block,
                                 .panel_stride = k.width,
                                 .next = next,
                                 .c = rows.at(column),
                                 .c_row_stride = rows.c_row_stride,
                                 .columns = std::min<int64_t>(k.width, columns() - column),
                                 .accumulate = at > 0 || options.accumulate,
                                 .bias = last && options.bias ? options.bias + column : nullptr,
                                 .relu = last && options.relu});
      };
      const Element *const block = at_panel(panel, at), *const next = block + std::min(max_depth, K - at) * width_;
      if constexpr (std::is_same_v<Element, uint16_t>) {
        if (widens) {
          k.widen(block, std::min(max_depth, K - at), wide);
          // As many bytes as the floats have: this fetches two blocks, of which the first is there already.
          multiply_block(static_cast<const float*>(wide), reinterpret_cast<const float*>(next));
          continue;
        }
      }
      multiply_block(block, next);
    }
  }
}

}  // namespace

PackedMatrix::PackedMatrix(Matrix b) : form_(std::make_shared<PanelForm<float>>(b)) {}
PackedMatrix::PackedMatrix(Bf16Matrix b) : form_(std::make_shared<PanelForm<uint16_t>>(b)) {}

}  // namespace qkv::kernel
