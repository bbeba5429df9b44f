#include "qkv/op/embedding.h"

#include <algorithm>
#include <numeric>

#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"
#include "qkv/op/rows.h"

namespace qkv {
namespace {

// Rows of a table, which may be held packed or trained as if it were.
class TableRows {
 public:
  explicit TableRows(const Weight& table) : columns_(table.dim(1)) {
    if (table.is_packed() || table.forward_format() != WeightFormat::f32)
      packed_ = table.forward();
    else
      values_ = table.values().contiguous_copy();
  }
  // The row, in place or copied to `memory`.
  const float* row(int64_t id, float* memory) const {
    if (values_.defined()) return values_.data<float>() + id * columns_;
    packed_.copy_column(id, memory);
    return memory;
  }

 private:
  int64_t columns_;
  Tensor values_;
  kernel::PackedMatrix packed_;
};

// (B,T,C), of ids that are rows of the table; positions are undefined or fit.
Tensor embedded(const Tensor& ids, const Weight& table, const Tensor& positions, const EmbeddingOptions& options) {
  const int64_t B = ids.dim(0), T = ids.dim(1), C = table.dim(1);
  const auto id = ids.span<int32_t>();
  Tensor y = Tensor::empty({B, T, C});
  count_work(OpWork::moves(y, 2));
  const TableRows table_rows(table);
  const float* p = positions.defined() ? positions.data<float>() + options.first_position * C : nullptr;
  float* out = y.data<float>();
  for_each_row(B * T, C, [&](int64_t r) {
    const float* position = p ? p + r % T * C : nullptr;
    kernel::kernels().rows.embed(table_rows.row(id[static_cast<size_t>(r)], out + r * C), options.scale, position,
                                 C, out + r * C);
  });
  return y;
}

// dtable[id] += scale * dy[row] for every row. Rows are sorted by id: each row of the table is summed by one
// thread, in the order of the rows.
void add_table_gradient(const Tensor& ids, const Tensor& dy, float scale, Tensor& dtable) {
  const int64_t V = dtable.dim(0), C = dtable.dim(1);
  const auto id = ids.span<int32_t>();
  std::vector<int64_t> first(static_cast<size_t>(V) + 1, 0);  // counting sort of the rows by id
  for (const int32_t i : id) ++first[static_cast<size_t>(i) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int64_t> by_id(id.size()), next(first.begin(), first.end() - 1);
  for (size_t row = 0; row < id.size(); ++row)
    by_id[static_cast<size_t>(next[static_cast<size_t>(id[row])]++)] = static_cast<int64_t>(row);
  float* out = dtable.data<float>();
  const float* g = dy.data<float>();
  const kernel::RowKernels& rows = kernel::kernels().rows;
  parallel_ranges(V, 256, [&](int64_t begin, int64_t end) {
    Scratch scratch;
    float* const sum = scratch.floats(C);
    for (int64_t v = begin; v < end; ++v) {
      const int64_t from = first[static_cast<size_t>(v)], to = first[static_cast<size_t>(v) + 1];
      if (from == to) continue;
      std::fill_n(sum, C, 0.0f);
      for (int64_t r = from; r < to; ++r) rows.add_scaled(g + by_id[static_cast<size_t>(r)] * C, scale, C, sum);
      rows.add(out + v * C, sum, C, out + v * C);
    }
  });
}

Tensor position_gradient(const Tensor& dy, const Shape& shape, int64_t first_position) {
  Tensor dpositions = Tensor::zeros(shape);
  const int64_t B = dy.dim(0), T = dy.dim(1), C = dy.dim(2);
  float* out = dpositions.data<float>() + first_position * C;
  const float* g = dy.data<float>();
  for (int64_t b = 0; b < B; ++b)
    for_each_range(T * C, [&](int64_t i, int64_t end) {
      kernel::kernels().rows.add_scaled(g + b * T * C + i, 1.0f, end - i, out + i);
    });
  return dpositions;
}

}  // namespace

Variable embedding(const Tensor& ids, const Weight& table, const EmbeddingOptions& options) {
  const OpScope scope("embedding");
  require(ids.rank() == 2 && ids.dtype() == DType::i32 && table.shape().rank() == 2, "embedding",
          "ids must be i32 (B,T), the table f32 (V,C); got {} {} and {}", name_of(ids.dtype()), ids.shape(),
          table.shape());
  const int64_t T = ids.dim(1), V = table.dim(0), C = table.dim(1);
  const Variable& positions = options.positions;
  require(!positions.defined() || (positions.value().rank() == 2 && positions.dim(1) == C &&
                                   options.first_position >= 0 && positions.dim(0) >= options.first_position + T),
          "embedding", "positions [{}, {}) do not fit a table of {}", options.first_position,
          options.first_position + T, positions.defined() ? positions.shape() : Shape{});
  const Tensor contiguous_ids = ids.contiguous_copy();
  const auto id = contiguous_ids.span<int32_t>();
  for (const int32_t i : id) require(i >= 0 && i < V, "embedding", "id {} is not in the table of V {} rows", i, V);

  const Tensor contiguous_positions = positions.defined() ? positions.value().contiguous_copy() : Tensor();
  const Tensor y = embedded(contiguous_ids, table, contiguous_positions, options);
  if (!recording({table.master(), positions})) return y;
  std::vector<Variable> inputs = {table.master()};
  if (positions.defined()) inputs.push_back(positions);
  const auto backward = [first = options.first_position, shape = positions.defined() ? positions.shape() : Shape{}](
                            const Tensor& grad, const std::vector<bool>& needs) {
    std::vector<Tensor> grads(needs.size());
    count_work(OpWork::moves(grad, 1));
    if (needs.size() > 1 && needs[1]) grads[1] = position_gradient(grad.contiguous_copy(), shape, first);
    return grads;
  };
  return record("embedding", inputs, y, backward)
      .adding_to_first([contiguous_ids, scale = options.scale](const Tensor& grad, Tensor& dtable) {
        count_work(OpWork::moves(grad, 2));  // rows of the table
        add_table_gradient(contiguous_ids, grad.contiguous_copy(), scale, dtable);
      })
      .recomputed_by([contiguous_ids, table, contiguous_positions, options] {
        return embedded(contiguous_ids, table, contiguous_positions, options);
      });
}

}  // namespace qkv
