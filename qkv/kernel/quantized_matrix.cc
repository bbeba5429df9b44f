#include "qkv/kernel/quantized_matrix.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/kernel/packed_form.h"
#include "qkv/tensor/half.h"
#include "qkv/tensor/storage.h"

namespace qkv::kernel {
namespace {

// What panels of both forms share: how a product is cut into items, and where its parts go.
class QuantizedForm : public PackedMatrix::Form {
 public:
  QuantizedForm(WeightFormat format, int64_t K, int64_t N, int64_t bytes_of_panel)
      : Form(format, K, N),
        bytes_of_panel_(bytes_of_panel),
        storage_(Storage::allocate(panels() * bytes_of_panel)) {}

  int64_t bytes() const override { return storage_->bytes(); }
  // A panel is read once for the rows of a piece, whose numbers stay in the second-level cache. Some kernels multiply two
  // panels at a time.
  WorkItems work_items(int64_t a_rows, int64_t together) const override {
    constexpr int64_t max_piece = 64;
    WorkItems items = grouped(a_rows, rounded_up(ceil_div(a_rows, ceil_div(a_rows, max_piece)), 8), quantized_width,
                              400'000, together);
    const int64_t even = std::min(rounded_up(items.group, 2), items.panels);
    items.cost *= static_cast<double>(even) / static_cast<double>(items.group);
    items.group = even;
    return items;
  }
  void multiply(const ProductRows& rows, int64_t first, int64_t end, const MatmulOptions& options) const override {
    const int64_t column = first * quantized_width;
    multiply_panels(rows.numbers, rows.a.rows, first, end,
                    {.c = rows.at(column),
                     .row_stride = rows.c_row_stride,
                     .columns = std::min<int64_t>(quantized_width, columns() - column),
                     .accumulate = options.accumulate,
                     .bias = options.bias ? options.bias + column : nullptr,
                     .relu = options.relu});
  }

 protected:
  int64_t panels() const { return ceil_div(columns(), quantized_width); }
  int64_t bytes_of_panel() const { return bytes_of_panel_; }
  uint8_t* panel(int64_t i) const { return reinterpret_cast<uint8_t*>(storage_->data()) + i * bytes_of_panel_; }

  // The product of some rows by panels [first, end); result is that of the panel `first`.
  virtual void multiply_panels(const QuantizedRows& a, int64_t rows, int64_t first, int64_t end,
                               const QuantizedResult& result) const = 0;

  // The result of a panel, or of more from it on, from that of another.
  QuantizedResult at_panel(QuantizedResult result, int64_t from, int64_t to, int64_t count = 1) const {
    const int64_t skip = (to - from) * quantized_width;
    result.c += skip;
    if (result.bias) result.bias += skip;
    result.columns = std::min<int64_t>(count * quantized_width, columns() - to * quantized_width);
    return result;
  }

 private:
  int64_t bytes_of_panel_;
  std::shared_ptr<Storage> storage_;
};

// A panel: its numbers + 128 in steps, those after the last of K are zero; then 16 scales (Int8Product).
class Int8Form final : public QuantizedForm {
 public:
  Int8Form(int64_t K, int64_t N)
      : QuantizedForm(WeightFormat::int8, K, N, ceil_div(K, step_depth) * step_bytes + 4 * quantized_width) {}

  // row(n, numbers) writes the numbers of row n and returns its scale.
  void fill(FunctionRef<float(int64_t, int8_t*)> row) {
    parallel_for(panels(), [&](int64_t i) {
      std::vector<int8_t> numbers(static_cast<size_t>(rows()));
      uint8_t* const to = panel(i);
      std::fill_n(to, steps() * step_bytes, uint8_t{128});
      std::fill_n(scales(i), quantized_width, 0.0f);
      for (int64_t n = i * quantized_width; n < std::min(columns(), (i + 1) * quantized_width); ++n) {
        scales(i)[n % quantized_width] = row(n, numbers.data());
        for (int64_t k = 0; k < rows(); ++k)
          to[place(n, k)] = static_cast<uint8_t>(numbers[static_cast<size_t>(k)] + 128);
      }
    });
  }

  void copy_column(int64_t n, float* to) const override {
    const uint8_t* const from = panel(n / quantized_width);
    const float scale = scales(n / quantized_width)[n % quantized_width];
    for (int64_t k = 0; k < rows(); ++k) to[k] = scale * static_cast<float>(from[place(n, k)] - 128);
  }
  void copy_stored(int64_t n, uint8_t* to) const override {
    const uint8_t* const from = panel(n / quantized_width);
    for (int64_t k = 0; k < rows(); ++k) to[k] = static_cast<uint8_t>(from[place(n, k)] - 128);
    std::memcpy(to + rows(), scales(n / quantized_width) + n % quantized_width, 4);
  }

 private:
  int64_t steps() const { return ceil_div(rows(), step_depth); }
  static int64_t place(int64_t n, int64_t k) {
    return k / step_depth * step_bytes + n % quantized_width * step_depth + k % step_depth;
  }
  float* scales(int64_t i) const { return reinterpret_cast<float*>(panel(i) + steps() * step_bytes); }

  std::optional<RowQuantization> quantization() const override {
    return RowQuantization{rounded_up(rows(), 32), rounded_up(rows(), 32), 128};
  }
  void multiply_panels(const QuantizedRows& a, int64_t rows, int64_t first, int64_t end,
                       const QuantizedResult& result) const override {
    QuantizedResult all = result;
    all.columns = std::min(end * quantized_width, columns()) - first * quantized_width;
    kernels().quantized.multiply_int8(
        {.a = a, .rows = rows, .steps = steps(), .panels = panel(first), .result = all});
  }
};

// A panel: blocks of 16 columns, one after another (BlockLayout).
class BlockForm final : public QuantizedForm {
 public:
  BlockForm(WeightFormat format, int64_t K, int64_t N)
      : QuantizedForm(format, K, N, K / layout_of(format).block * layout_of(format).bytes()),
        layout_(layout_of(format)) {}

  void fill(const StoredFormat& format, const uint8_t* stored, int64_t row_stride);
  void copy_column(int64_t n, float* to) const override;
  void copy_stored(int64_t n, uint8_t* to) const override;

 private:
  uint8_t* block_at(int64_t i, int64_t k) const { return panel(i) + k / layout_.block * layout_.bytes(); }

  std::optional<RowQuantization> quantization() const override {
    return RowQuantization{unit_depth, layout_.group, layout_.zero};
  }
  void multiply_panels(const QuantizedRows& a, int64_t rows, int64_t first, int64_t end,
                       const QuantizedResult& result) const override;

  const BlockKernels& block_kernels() const { return kernels().quantized.blocks[&layout_ - block_layouts]; }

  const BlockLayout& layout_;
};

// Bits of four numbers of a column, which stand side by side in all forms.
uint32_t four_numbers(const uint8_t* from) {
  uint32_t numbers = 0;
  std::memcpy(&numbers, from, sizeof(numbers));
  return numbers;
}
constexpr uint32_t in_four_numbers(int bits) { return ((1u << bits) - 1) * 0x01010101u; }

// Writes column n of a plane: the `bits` bits of each number from bit `shift` up.
void put(uint8_t* plane, int bits, int64_t n, const uint8_t* numbers, int count, int shift) {
  uint8_t* to = plane + n * step_depth;
  for (int k = 0; k < count; to += step_bytes) {
    uint32_t together = 0;
    for (int at = 0; at < 8; at += bits, k += step_depth)
      together |= (four_numbers(numbers + k) >> shift & in_four_numbers(bits)) << at;
    std::memcpy(to, &together, sizeof(together));
  }
}

// Adds what put() wrote to numbers.
void take(const uint8_t* plane, int bits, int64_t n, uint8_t* numbers, int count, int shift) {
  const uint8_t* from = plane + n * step_depth;
  for (int k = 0; k < count; from += step_bytes)
    for (int at = 0; at < 8; at += bits, k += step_depth) {
      const uint32_t with_these = four_numbers(numbers + k) | (four_numbers(from) >> at & in_four_numbers(bits))
                                                                  << shift;
      std::memcpy(numbers + k, &with_these, sizeof(with_these));
    }
}

void BlockForm::fill(const StoredFormat& format, const uint8_t* stored, int64_t row_stride) {
  parallel_for(panels(), [&](int64_t i) {
    const int64_t first = i * quantized_width, count = std::min<int64_t>(quantized_width, columns() - first);
    if (count < quantized_width) std::fill_n(panel(i), rows() / layout_.block * layout_.bytes(), uint8_t{0});
    BlockNumbers numbers;
    for (int64_t k = 0; k < rows(); k += layout_.block)
      for (int64_t n = 0; n < count; ++n) {
        format.take_apart(stored + (first + n) * row_stride + k / layout_.block * format.block_bytes, numbers);
        uint8_t* const to = block_at(i, k);
        std::memcpy(to + 2 * n, numbers.d.bytes, 2);
        if (layout_.has_minimum) std::memcpy(to + layout_.minimum_at() + 2 * n, numbers.minimum.bytes, 2);
        for (int g = 0; layout_.group_scales && g < layout_.groups(); ++g) {
          const int64_t at = g * quantized_width + n;
          to[layout_.scales_at() + at] = static_cast<uint8_t>(numbers.scales[g]);
          if (layout_.has_minimum) to[layout_.minimums_at() + at] = numbers.minimums[g];
        }
        put(to + layout_.low_at(), layout_.low, n, numbers.numbers, layout_.block, 0);
        if (layout_.high > 0)
          put(to + layout_.high_at(), layout_.high, n, numbers.numbers, layout_.block, layout_.low);
      }
  });
}

// Memory for a chunk of panels that is unpacked.
UnpackedChunk unpacked_chunk(Scratch& scratch, int64_t panels = 1) {
  return {.numbers = reinterpret_cast<uint8_t*>(scratch.floats(panels * chunk_bytes / 4)),
          .scales = scratch.floats(panels * chunk_scales),
          .minimums = scratch.floats(panels * chunk_scales)};
}

void BlockForm::copy_column(int64_t n, float* to) const {
  Scratch scratch;
  const UnpackedChunk chunk = unpacked_chunk(scratch);
  const int64_t column = n % quantized_width;
  for (int64_t k = 0; k < rows(); k += layout_.block) {
    block_kernels().unpack(block_at(n / quantized_width, k), 1, chunk);
    for (int64_t j = 0; j < layout_.block; ++j) {
      const int64_t at = j / layout_.group * quantized_width + column;
      const int number = chunk.numbers[j / step_depth * step_bytes + column * step_depth + j % step_depth];
      const float scaled = chunk.scales[at] * static_cast<float>(number - layout_.zero);
      to[k + j] = layout_.has_minimum ? scaled + chunk.minimums[at] : scaled;
    }
  }
}

void BlockForm::copy_stored(int64_t n, uint8_t* to) const {
  const StoredFormat& stored = stored_format(format());
  const int64_t column = n % quantized_width;
  BlockNumbers numbers;
  for (int64_t k = 0; k < rows(); k += layout_.block, to += stored.block_bytes) {
    const uint8_t* const from = block_at(n / quantized_width, k);
    std::memcpy(numbers.d.bytes, from + 2 * column, 2);
    if (layout_.has_minimum) std::memcpy(numbers.minimum.bytes, from + layout_.minimum_at() + 2 * column, 2);
    for (int g = 0; layout_.group_scales && g < layout_.groups(); ++g) {
      const int64_t at = g * quantized_width + column;
      numbers.scales[g] = static_cast<int8_t>(from[layout_.scales_at() + at]);
      if (layout_.has_minimum) numbers.minimums[g] = from[layout_.minimums_at() + at];
    }
    std::fill_n(numbers.numbers, layout_.block, uint8_t{0});
    take(from + layout_.low_at(), layout_.low, column, numbers.numbers, layout_.block, 0);
    if (layout_.high > 0)
      take(from + layout_.high_at(), layout_.high, column, numbers.numbers, layout_.block, layout_.low);
    stored.put_together(numbers, to);
  }
}

void BlockForm::multiply_panels(const QuantizedRows& a, int64_t rows, int64_t first, int64_t end,
                                const QuantizedResult& result) const {
  const int64_t K = this->rows(), blocks = K / layout_.block;
  if (rows <= 2 * few_rows) {  // numbers are unpacked twice in registers sooner than once in memory
    for (int64_t i = first; i < end; ++i)
      block_kernels().multiply_few(
          {.a = a, .rows = rows, .panel = panel(i), .blocks = blocks, .result = at_panel(result, first, i)});
    return;
  }
  Scratch scratch;
  const int64_t together = block_kernels().panels_of_chunk;
  const UnpackedChunk chunk = unpacked_chunk(scratch, together);
  float* const totals = scratch.floats(rows * quantized_width * together);
  for (int64_t i = first; i < end; i += together) {
    const int64_t panels = std::min(together, end - i);
    for (int64_t k = 0; k < K; k += chunk_depth) {
      const int64_t depth = std::min<int64_t>(chunk_depth, K - k);
      for (int64_t j = 0; j < panels; ++j)
        block_kernels().unpack(block_at(i + j, k), depth / layout_.block, chunk.of_panel(j));
      QuantizedRows part = a;
      part.numbers += k, part.scales += k / unit_depth * a.group_stride;
      part.offsets += k / layout_.group * a.group_stride, part.sums += k / layout_.group * a.group_stride;
      block_kernels().multiply_chunk({.a = part,
                                      .rows = rows,
                                      .blocks = depth / layout_.block,
                                      .panels = panels,
                                      .chunk = chunk,
                                      .totals = totals,
                                      .first = k == 0,
                                      .last = k + depth == K,
                                      .next = k + depth < K ? block_at(i, k + depth) : panel(i + panels),
                                      .next_stride = bytes_of_panel(),
                                      .result = at_panel(result, first, i, panels)});
    }
  }
}

}  // namespace

PackedMatrix pack_int8(Matrix w) {
  auto form = std::make_shared<Int8Form>(w.columns, w.rows);
  const int64_t padded = rounded_up(w.columns, 32);
  form->fill([&](int64_t n, int8_t* numbers) {
    Scratch scratch;
    auto* const out = reinterpret_cast<int8_t*>(scratch.floats(padded / 4));
    float scale = 0, sum = 0;
    int32_t offset = 0;
    kernels().quantized.quantize(w.data + n * w.row_stride, w.columns, padded, static_cast<int>(padded), 0, out,
                                 &scale, &offset, &sum, 1);
    std::memcpy(numbers, out, static_cast<size_t>(w.columns));
    return scale;
  });
  return PackedMatrix(std::move(form));
}

PackedMatrix pack_int8(int64_t N, int64_t K, FunctionRef<float(int64_t n, int8_t* numbers)> row) {
  auto form = std::make_shared<Int8Form>(K, N);
  form->fill(row);
  return PackedMatrix(std::move(form));
}

PackedMatrix pack_int8_rows(const uint8_t* rows, int64_t row_stride, int64_t N, int64_t K) {
  return pack_int8(N, K, [&](int64_t n, int8_t* numbers) {
    const uint8_t* const row = rows + n * row_stride;
    std::memcpy(numbers, row, static_cast<size_t>(K));
    float scale = 0;
    std::memcpy(&scale, row + K, sizeof(scale));
    return scale;
  });
}

PackedMatrix pack_blocks(const StoredFormat& format, const uint8_t* rows, int64_t row_stride, int64_t N,
                         int64_t K) {
  auto form = std::make_shared<BlockForm>(format.format, K, N);
  form->fill(format, rows, row_stride);
  return PackedMatrix(std::move(form));
}

}  // namespace qkv::kernel
