#include "qkv/attention/mask/causal.h"

#include <algorithm>

#include <fmt/format.h>

namespace qkv {
namespace {

class Causal final : public Mask {
 public:
  explicit Causal(std::optional<int64_t> offset) : offset_(offset) {}

  KeyRange key_range(const QueryBlock& block) const override {
    const int64_t last = block.query + block.queries - 1 + offset(block);
    return {0, std::clamp<int64_t>(last + 1, 0, block.shape->S)};
  }
  Visibility classify(const Tile& tile) const override {
    const int64_t first = tile.query + offset(tile), last = first + tile.queries - 1;
    if (tile.key > last) return Visibility::masked;
    return tile.key + tile.keys - 1 <= first ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    const int64_t first = tile.key - offset(tile) - tile.query;  // the first query that sees the first key
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] = ~first_queries(first + j);
  }
  std::string name() const override { return offset_ ? fmt::format("causal({})", *offset_) : "causal()"; }

 private:
  int64_t offset(const QueryBlock& block) const { return offset_ ? *offset_ : block.shape->position(0); }

  std::optional<int64_t> offset_;
};

}  // namespace

MaskPtr causal(std::optional<int64_t> offset) { return std::make_shared<Causal>(offset); }

}  // namespace qkv
