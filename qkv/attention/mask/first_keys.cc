#include "qkv/attention/mask/first_keys.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class FirstKeys final : public Mask {
 public:
  explicit FirstKeys(int64_t count) : count_(count) {}

  KeyRange key_range(const QueryBlock& block) const override { return {0, std::min(count_, block.shape->S)}; }
  Visibility classify(const Tile& tile) const override {
    if (tile.key >= count_) return Visibility::masked;
    return tile.key + tile.keys <= count_ ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    const int64_t seen = std::clamp<int64_t>(count_ - tile.key, 0, tile.keys);
    std::fill(visible, visible + seen, ~uint64_t{0});
    std::fill(visible + seen, visible + tile.keys, 0);
  }
  std::string name() const override { return fmt::format("first_keys({})", count_); }

 private:
  int64_t count_;
};

}  // namespace

MaskPtr first_keys(int64_t count) {
  require(count >= 0, "first_keys", "the count must not be negative, got {}", count);
  return std::make_shared<FirstKeys>(count);
}

}  // namespace qkv
