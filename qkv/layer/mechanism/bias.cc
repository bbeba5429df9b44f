#include "qkv/layer/mechanism/bias.h"

#include <algorithm>

#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"
#include "qkv/layer/attention_part.h"
#include "qkv/layer/mechanism/mechanism_of.h"

namespace qkv {
namespace {

// bias() with the table's own lengths. In a decoding step the last query is at the last key.
class TableBias final : public Modifier {
 public:
  explicit TableBias(Variable table) : table_(std::move(table)) {}

  void forward(const Tile& tile, float* s) const override {
    const Part part(tile, table_);
    if (part.queries <= 0 || part.keys <= 0) return;
    const auto& kernels = kernel::kernels();
    Scratch scratch;
    float* columns = scratch.floats(part.keys * tile.width);
    kernels.attention.transpose_in(table_.value().data<float>() + part.offset, table_.dim(2), part.queries,
                                   part.keys, columns, tile.width, tile.width);
    for (int64_t j = 0; j < part.keys; ++j)
      kernels.rows.add(s + j * tile.width, columns + j * tile.width, part.queries, s + j * tile.width);
  }
  void backward(const Tile& tile, const float* /*saved*/, float* ds, float* parameters) const override {
    const Part part(tile, table_);
    if (!table_.requires_grad() || part.queries <= 0 || part.keys <= 0) return;
    const auto& kernels = kernel::kernels();
    Scratch scratch;
    float* rows = scratch.floats(part.queries * part.keys);
    float ones[max_block_queries];
    std::fill_n(ones, max_block_queries, 1.0f);
    kernels.attention.transpose_out(ds, tile.width, part.queries, part.keys, ones, rows, part.keys);
    for (int64_t i = 0; i < part.queries; ++i) {
      float* sum = parameters + part.offset + i * table_.dim(2);
      kernels.rows.add(sum, rows + i * part.keys, part.keys, sum);
    }
  }
  std::vector<Variable> parameters() const override {
    return table_.requires_grad() ? std::vector{table_} : std::vector<Variable>{};
  }
  std::string name() const override { return fmt::format("bias of {} positions", table_.dim(1)); }

 private:
  // The first queries and keys of a tile have an entry in the table; the offset is that of the first pair.
  struct Part {
    int64_t queries, keys, offset;
    Part(const Tile& tile, const Variable& table) {
      const int64_t N = table.dim(1), first = tile.shape->position(tile.query);
      queries = std::min(tile.queries, N - first);
      keys = std::min(tile.keys, N - tile.key);
      offset = (tile.head * N + first) * N + tile.key;
    }
  };

  Variable table_;
};

constexpr double max_positions = 1024;

class BiasMechanism final : public MechanismOf<Bias> {
 public:
  using MechanismOf::MechanismOf;
  Facts facts() const override {
    return {.name = "bias",
            .help =
                "a learned number for each head and pair of the first POSITIONS positions, added to the scores; "
                "later positions have none",
            .role = Role::modify,
            .in_cross = false};
  }
  Fields fields() const override { return {{"positions", &Bias::positions, 1, max_positions, /*required=*/true}}; }
  Parameters parameters(const AttentionSize& size) const override {
    const Axis N(value.positions, "positions");
    return {{"table", Parameter({Axis(size.heads, "H"), N, N})}};
  }
  void add_to(AttentionOptions& options, const AttentionPart& part) const override {
    options.modify.push_back(std::make_shared<TableBias>(part.parameter(0)));
  }
};

}  // namespace

AttentionMechanismPtr mechanism_of(const Bias& x) { return std::make_shared<BiasMechanism>(x); }

}  // namespace qkv
