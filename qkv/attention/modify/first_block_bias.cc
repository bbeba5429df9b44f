#include "qkv/attention/modify/first_block_bias.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class FirstBlockBias final : public Modifier {
 public:
  FirstBlockBias(int64_t block, int64_t copies)
      : block_(block), copies_(copies), bias_(std::log1p(static_cast<float>(copies))) {}

  void forward(const Tile& tile, float* s) const override {
    const int64_t keys = std::min(tile.keys, block_ - tile.key);
    const int64_t first = tile.shape->position(tile.query);
    const int64_t last = (tile.shape->S - 1) / block_ * block_;  // the first position of the last block
    const int64_t begin = std::max<int64_t>(block_ - first, 0), end = std::min(last - first, tile.queries);
    for (int64_t j = 0; j < keys; ++j)
      for (int64_t i = begin; i < end; ++i) s[j * tile.width + i] += bias_;
  }
  void backward(const Tile&, const float* /*saved*/, float* /*ds*/, float* /*parameters*/) const override {}
  std::string name() const override { return fmt::format("first_block_bias({}, {})", block_, copies_); }

 private:
  int64_t block_, copies_;
  float bias_;
};

}  // namespace

ModifierPtr first_block_bias(int64_t block, int64_t copies) {
  require(block > 0, "first_block_bias", "the block must be positive, got {}", block);
  require(copies >= 0, "first_block_bias", "the number of copies must not be negative, got {}", copies);
  return std::make_shared<FirstBlockBias>(block, copies);
}

}  // namespace qkv
