#include "qkv/attention/mask/dense.h"

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Dense final : public Mask {
 public:
  explicit Dense(Tensor table) : table_(std::move(table)) {}

  void check(const AttentionShape& s) const override {
    const int64_t wanted[4] = {s.B, s.H, s.T, s.S};
    for (int axis = 0; axis < 4; ++axis)
      require(table_.dim(axis) == 1 || table_.dim(axis) == wanted[axis], "dense",
              "the table is {}; each axis must be 1 or as in (B {}, H {}, T {}, S {})",
              describe("BHTS", table_.shape()), s.B, s.H, s.T, s.S);
  }
  Visibility look(const Tile& tile) const override {
    bool any = false, all = true;
    for (int64_t i = 0; i < (table_.dim(2) == 1 ? 1 : tile.queries); ++i) {
      for (int64_t j = 0; j < (table_.dim(3) == 1 ? 1 : tile.keys); ++j) {
        const bool sees = *at(tile, i, j) != 0;
        any |= sees;
        all &= sees;
      }
    }
    if (!any) return Visibility::none;
    return all ? Visibility::all : Visibility::some;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    for (int64_t j = 0; j < tile.keys; ++j) {
      visible[j] = 0;
      for (int64_t i = 0; i < tile.queries; ++i) visible[j] |= uint64_t{*at(tile, i, j) != 0} << i;
    }
  }
  std::string name() const override { return fmt::format("dense{}", table_.shape()); }

 private:
  const uint8_t* at(const Tile& tile, int64_t i, int64_t j) const {
    const auto step = [&](int axis) { return table_.dim(axis) == 1 ? 0 : table_.stride(axis); };
    return table_.data<uint8_t>() + tile.batch * step(0) + tile.head * step(1) + (tile.query + i) * step(2) +
           (tile.key + j) * step(3);
  }

  Tensor table_;
};

}  // namespace

MaskPtr dense(const Tensor& table) {
  require(table.dtype() == DType::u8 && table.rank() == 4, "dense",
          "the table is u8 of shape (B, H, T, S), got {} {}", name_of(table.dtype()), table.shape());
  return std::make_shared<Dense>(table);
}

}  // namespace qkv
