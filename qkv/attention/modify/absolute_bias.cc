#include "qkv/attention/modify/absolute_bias.h"

#include <algorithm>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"

namespace qkv {
namespace {

class AbsoluteBias final : public Modifier {
 public:
  explicit AbsoluteBias(Variable table) : table_(std::move(table)) {}

  void check(const AttentionShape& shape) const override {
    require(table_.dim(0) == shape.H, "absolute_bias", "the table is {} for H {} query heads",
            describe("HNN", table_.shape()), shape.H);
  }
  // In a tile the queries are contiguous, in a table usually the keys.
  void forward(const Tile& tile, float* s) const override {
    const Part part(tile, table_.dim(1));
    if (part.queries <= 0 || part.keys <= 0) return;
    const Tensor& x = table_.value();
    const float* numbers =
        x.data<float>() + tile.head * x.stride(0) + part.position * x.stride(1) + tile.key * x.stride(2);
    s += part.skipped;
    if (x.stride(2) != 1) {
      for (int64_t j = 0; j < part.keys; ++j)
        for (int64_t i = 0; i < part.queries; ++i)
          s[j * tile.width + i] += numbers[i * x.stride(1) + j * x.stride(2)];
      return;
    }
    const auto& kernels = kernel::kernels();
    Scratch scratch;
    float* columns = scratch.floats(part.keys * tile.width);
    kernels.attention.transpose_in(numbers, x.stride(1), part.queries, part.keys, columns, tile.width, tile.width);
    for (int64_t j = 0; j < part.keys; ++j)
      kernels.rows.add(s + j * tile.width, columns + j * tile.width, part.queries, s + j * tile.width);
  }
  void backward(const Tile& tile, const float* /*saved*/, float* ds, float* parameters) const override {
    const int64_t N = table_.dim(1);
    const Part part(tile, N);
    if (!table_.requires_grad() || part.queries <= 0 || part.keys <= 0) return;
    const auto& kernels = kernel::kernels();
    Scratch scratch;
    float* rows = scratch.floats(part.queries * part.keys);
    float ones[max_block_queries];
    std::fill_n(ones, max_block_queries, 1.0f);
    kernels.attention.transpose_out(ds + part.skipped, tile.width, part.queries, part.keys, ones, rows, part.keys);
    float* sums = parameters + (tile.head * N + part.position) * N + tile.key;
    for (int64_t i = 0; i < part.queries; ++i)
      kernels.rows.add(sums + i * N, rows + i * part.keys, part.keys, sums + i * N);
  }
  std::vector<Variable> parameters() const override {
    return table_.requires_grad() ? std::vector{table_} : std::vector<Variable>{};
  }
  std::string name() const override { return fmt::format("absolute_bias({})", counted(table_.dim(1), "position")); }

 private:
  // The queries and keys of a tile that have numbers in the table: the first queries may be before position 0, the
  // last ones and the last keys beyond the table.
  struct Part {
    int64_t skipped, position, queries, keys;  // position: of the first query
    Part(const Tile& tile, int64_t N) {
      const int64_t first = tile.shape->position(tile.query);
      position = std::max<int64_t>(first, 0);
      skipped = position - first;
      queries = std::min(tile.queries - skipped, N - position);
      keys = std::min(tile.keys, N - tile.key);
    }
  };

  Variable table_;
};

}  // namespace

ModifierPtr absolute_bias(const Variable& table) {
  require(table.defined() && table.value().dtype() == DType::f32 && table.value().rank() == 3 &&
              table.dim(1) == table.dim(2),
          "absolute_bias", "the table must be f32 of shape (H, N, N), got {}",
          table.defined() ? to_string(table.shape()) : "nothing");
  return std::make_shared<AbsoluteBias>(table);
}

}  // namespace qkv
