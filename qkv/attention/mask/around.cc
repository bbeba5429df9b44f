#include "qkv/attention/mask/around.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Around final : public Mask {
 public:
  Around(const Tensor& centers, double radius) : shape_(centers.shape()), radius_(radius) {
    for (const float center : centers.span<float>()) {
      require(std::isfinite(center), "around", "centers must be finite numbers, got {}", center);
      const auto bound = [](double x) { return static_cast<int64_t>(std::clamp(x, -1e12, 1e12)); };
      const auto c = static_cast<double>(center);
      ranges_.push_back({bound(std::ceil(c - radius)), bound(std::floor(c + radius)) + 1});
    }
  }

  void check(const AttentionShape& n) const override {
    require(shape_ == (shape_.rank() == 3 ? Shape{n.B, n.H, n.T} : Shape{n.B, n.T}), "around",
            "the centers are {} for B {}, H {} and T {}", describe(shape_.rank() == 3 ? "BHT" : "BT", shape_), n.B,
            n.H, n.T);
  }
  KeyRange key_range(const QueryBlock& block) const override {
    KeyRange all = {block.shape->S, 0};
    for (int64_t i = 0; i < block.queries; ++i) {
      const KeyRange range = of(block, i);
      if (range.end <= 0 || range.begin >= block.shape->S || range.begin >= range.end) continue;
      all = {std::min(all.begin, range.begin), std::max(all.end, range.end)};
    }
    return {std::max<int64_t>(all.begin, 0), std::min(all.end, block.shape->S)};
  }
  Visibility classify(const Tile& tile) const override {
    bool masked = true, visible = true;
    for (int64_t i = 0; i < tile.queries; ++i) {
      const KeyRange range = of(tile, i);
      masked &= range.begin >= range.end || range.end <= tile.key || range.begin >= tile.key + tile.keys;
      visible &= range.begin <= tile.key && range.end >= tile.key + tile.keys;
    }
    return masked ? Visibility::masked : visible ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    // The queries whose window begins, and has ended, at each key.
    uint64_t inside = 0, begins[max_block_keys] = {}, ends[max_block_keys] = {};
    for (int64_t i = 0; i < tile.queries; ++i) {
      const KeyRange range = of(tile, i);
      const int64_t begin = std::max<int64_t>(range.begin - tile.key, 0), end = range.end - tile.key;
      if (begin >= std::min(end, tile.keys)) continue;
      begins[begin] |= uint64_t{1} << i;
      if (end < tile.keys) ends[end] |= uint64_t{1} << i;
    }
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] = inside = (inside & ~ends[j]) | begins[j];
  }
  std::string name() const override { return fmt::format("around(centers, {})", radius_); }

 private:
  const KeyRange& of(const QueryBlock& block, int64_t i) const {
    const int64_t heads = shape_.rank() == 3 ? shape_[1] : 1, head = shape_.rank() == 3 ? block.head : 0;
    return ranges_[static_cast<size_t>((block.batch * heads + head) * block.shape->T + block.query + i)];
  }

  Shape shape_;
  double radius_;
  std::vector<KeyRange> ranges_;
};

}  // namespace

MaskPtr around(const Tensor& centers, double radius) {
  require(centers.dtype() == DType::f32 && (centers.rank() == 2 || centers.rank() == 3), "around",
          "centers must be f32 of shape (B, H, T) or (B, T), got {} {}", name_of(centers.dtype()), centers.shape());
  require(radius >= 0, "around", "the radius must not be negative, got {}", radius);
  return std::make_shared<Around>(centers.contiguous_copy(), radius);
}

}  // namespace qkv
