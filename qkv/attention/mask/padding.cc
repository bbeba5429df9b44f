#include "qkv/attention/mask/padding.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Padding final : public Mask {
 public:
  explicit Padding(std::vector<int32_t> lengths) : lengths_(std::move(lengths)) {}

  void check(const AttentionShape& shape) const override {
    require(static_cast<int64_t>(lengths_.size()) == shape.B, "padding", "{} lengths for B {}", lengths_.size(),
            shape.B);
    for (const int32_t length : lengths_)
      require(length >= 0 && length <= shape.S, "padding", "lengths must be 0 to S {}, got {}", shape.S, length);
  }
  KeyRange key_range(const QueryBlock& block) const override { return {0, length(block)}; }
  Visibility classify(const Tile& tile) const override {
    if (tile.key >= length(tile)) return Visibility::masked;
    return tile.key + tile.keys <= length(tile) ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    const int64_t real = std::clamp<int64_t>(length(tile) - tile.key, 0, tile.keys);
    std::fill(visible, visible + real, ~uint64_t{0});
    std::fill(visible + real, visible + tile.keys, 0);
  }
  std::string name() const override { return "padding(B)"; }

 private:
  int64_t length(const QueryBlock& block) const { return lengths_[static_cast<size_t>(block.batch)]; }

  std::vector<int32_t> lengths_;
};

class PaddingPerQuery final : public Mask {
 public:
  explicit PaddingPerQuery(Tensor lengths) : lengths_(std::move(lengths)) {}

  void check(const AttentionShape& shape) const override {
    require(lengths_.shape() == Shape{shape.B, shape.T}, "padding", "lengths are {} for B {} and T {}",
            describe("BT", lengths_.shape()), shape.B, shape.T);
    for (const int32_t length : lengths_.span<int32_t>())
      require(length >= 0 && length <= shape.S, "padding", "lengths must be 0 to S {}, got {}", shape.S, length);
  }
  KeyRange key_range(const QueryBlock& block) const override {
    return {0, *std::max_element(row(block), row(block) + block.queries)};
  }
  Visibility classify(const Tile& tile) const override {
    const auto [shortest, longest] = std::minmax_element(row(tile), row(tile) + tile.queries);
    if (tile.key >= *longest) return Visibility::masked;
    return tile.key + tile.keys <= *shortest ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    // The queries whose keys have ended at each key.
    const int32_t* lengths = row(tile);
    uint64_t inside = 0, ends[max_block_keys] = {};
    for (int64_t i = 0; i < tile.queries; ++i) {
      const int64_t run = lengths[i] - tile.key;
      if (run > 0) inside |= uint64_t{1} << i;
      if (run > 0 && run < tile.keys) ends[run] |= uint64_t{1} << i;
    }
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] = inside &= ~ends[j];
  }
  std::string name() const override { return "padding(B, T)"; }

 private:
  const int32_t* row(const QueryBlock& block) const {
    return lengths_.data<int32_t>() + block.batch * block.shape->T + block.query;
  }

  Tensor lengths_;
};

}  // namespace

MaskPtr padding(std::vector<int32_t> lengths) { return std::make_shared<Padding>(std::move(lengths)); }

MaskPtr padding(const Tensor& lengths) {
  require(lengths.dtype() == DType::i32 && (lengths.rank() == 1 || lengths.rank() == 2), "padding",
          "lengths must be i32 of shape (B) or (B, T), got {} {}", name_of(lengths.dtype()), lengths.shape());
  const Tensor contiguous = lengths.contiguous_copy();
  if (lengths.rank() == 2) return std::make_shared<PaddingPerQuery>(contiguous);
  const auto values = contiguous.span<int32_t>();
  return padding(std::vector<int32_t>(values.begin(), values.end()));
}

}  // namespace qkv
