#include "qkv/attention/mask/dense.h"

#include <algorithm>

#include "qkv/attention/mask/mapped.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

class Dense final : public internal::MappedMask {
 public:
  explicit Dense(Tensor table)
      : MappedMask({.batch = table.dim(0) != 1, .head = table.dim(1) != 1, .query = table.dim(2) != 1}),
        table_(std::move(table)) {}

  void check(const AttentionShape& s) const override {
    const int64_t expected[4] = {s.B, s.H, s.T, s.S};
    for (int axis = 0; axis < 4; ++axis)
      require(table_.dim(axis) == 1 || table_.dim(axis) == expected[axis], "dense",
              "the table is {}; each axis must be 1 or as in (B {}, H {}, T {}, S {})",
              describe("BHTS", table_.shape()), s.B, s.H, s.T, s.S);
    MappedMask::check(s);
  }
  std::string name() const override { return fmt::format("dense{}", table_.shape()); }

 private:
  // Eight queries at a time give one byte per key: a loop over keys that compilers vectorize.
  void evaluate(const Tile& tile, uint64_t* visible) const override {
    std::fill_n(visible, tile.keys, 0);
    uint8_t copy[max_block_keys];
    for (int64_t first = 0; first < tile.queries; first += 8) {
      uint8_t eight[max_block_keys] = {};
      for (int64_t i = first; i < std::min(first + 8, tile.queries); ++i) {
        const uint8_t* row = row_of(tile, i, copy);
        for (int64_t j = 0; j < tile.keys; ++j)
          eight[j] = static_cast<uint8_t>(eight[j] | (row[j] != 0 ? 1 << (i - first) : 0));
      }
      for (int64_t j = 0; j < tile.keys; ++j) visible[j] |= uint64_t{eight[j]} << first;
    }
  }

  // The contiguous keys of query i of the tile: in the table, or else in the copy.
  const uint8_t* row_of(const Tile& tile, int64_t i, uint8_t* copy) const {
    const auto step = [&](int axis) { return table_.dim(axis) == 1 ? 0 : table_.stride(axis); };
    const uint8_t* row = table_.data<uint8_t>() + tile.batch * step(0) + tile.head * step(1) +
                         (tile.query + i) * step(2) + tile.key * step(3);
    if (step(3) == 1) return row;
    for (int64_t j = 0; j < tile.keys; ++j) copy[j] = row[j * step(3)];
    return copy;
  }

  Tensor table_;
};

}  // namespace

MaskPtr dense(const Tensor& table) {
  require(table.dtype() == DType::u8 && table.rank() == 4, "dense",
          "the table must be u8 of shape (B, H, T, S), got {} {}", name_of(table.dtype()), table.shape());
  return std::make_shared<Dense>(table);
}

}  // namespace qkv
