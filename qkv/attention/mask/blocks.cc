#include "qkv/attention/mask/blocks.h"

#include <algorithm>

#include "qkv/base/error.h"
#include "qkv/base/integers.h"

namespace qkv {
namespace {

class Blocks final : public Mask {
 public:
  Blocks(Tensor table, int64_t block) : table_(std::move(table)), block_(block) {}

  void check(const AttentionShape& s) const override {
    const int64_t expected[4] = {s.B, s.H, count(s.T), count(s.S)};
    for (int axis = 0; axis < 4; ++axis)
      require(table_.dim(axis) == expected[axis] || (axis < 2 && table_.dim(axis) == 1), "blocks",
              "the table is {}; expected (1 or {}, 1 or {}, {}, {}) for T {}, S {} in blocks of {}", table_.shape(),
              s.B, s.H, expected[2], expected[3], s.T, s.S, block_);
  }
  KeyRange key_range(const QueryBlock& block) const override {
    const int64_t columns = table_.dim(3);
    int64_t first = 0, last = columns;
    while (first < last && !is_visible(block, first)) ++first;
    while (last > first && !is_visible(block, last - 1)) --last;
    return {first * block_, std::min(last * block_, block.shape->S)};
  }
  Visibility classify(const Tile& tile) const override {
    bool any = false, all = true;
    for (int64_t j = tile.key / block_; j * block_ < tile.key + tile.keys; ++j) {
      for (int64_t i = tile.query / block_; i * block_ < tile.query + tile.queries; ++i) {
        const bool visible = row(tile, i)[j] != 0;
        any |= visible;
        all &= visible;
      }
    }
    if (!any) return Visibility::masked;
    return all ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    for (int64_t j = 0; j < tile.keys;) {
      const int64_t column = (tile.key + j) / block_;
      uint64_t bits = 0;
      for (int64_t i = tile.query / block_; i * block_ < tile.query + tile.queries; ++i)
        if (row(tile, i)[column])
          bits |= first_queries((i + 1) * block_ - tile.query) & ~first_queries(i * block_ - tile.query);
      for (const int64_t end = std::min(tile.keys, (column + 1) * block_ - tile.key); j < end; ++j)
        visible[j] = bits;
    }
  }
  std::string name() const override { return fmt::format("blocks({}, {})", table_.shape(), block_); }

 private:
  int64_t count(int64_t positions) const { return ceil_div(positions, block_); }
  const uint8_t* row(const QueryBlock& at, int64_t i) const {
    const int64_t batch = table_.dim(0) == 1 ? 0 : at.batch, head = table_.dim(1) == 1 ? 0 : at.head;
    return table_.data<uint8_t>() + ((batch * table_.dim(1) + head) * table_.dim(2) + i) * table_.dim(3);
  }
  bool is_visible(const QueryBlock& block, int64_t column) const {
    for (int64_t i = block.query / block_; i * block_ < block.query + block.queries; ++i)
      if (row(block, i)[column]) return true;
    return false;
  }

  Tensor table_;
  int64_t block_;
};

}  // namespace

MaskPtr blocks(const Tensor& table, int64_t block) {
  require(table.dtype() == DType::u8 && table.rank() == 4, "blocks",
          "the table must be u8 of shape (B, H, blocks of T, blocks of S), got {} {}", name_of(table.dtype()),
          table.shape());
  require(block > 0, "blocks", "the block size must be positive, got {}", block);
  return std::make_shared<Blocks>(table.contiguous_copy(), block);
}

}  // namespace qkv
