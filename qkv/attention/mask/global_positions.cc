#include "qkv/attention/mask/global_positions.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Global final : public Mask {
 public:
  explicit Global(std::vector<int64_t> positions) : positions_(std::move(positions)) {}

  KeyRange key_range(const QueryBlock& block) const override {
    const int64_t S = block.shape->S, first = block.shape->position(block.query);
    if (count(first, block.queries) > 0) return {0, S};
    const int64_t inside = count(0, S);  // a prefix of the sorted positions
    return inside > 0 ? KeyRange{positions_.front(), positions_[static_cast<size_t>(inside - 1)] + 1}
                      : KeyRange{0, 0};
  }
  Visibility classify(const Tile& tile) const override {
    const int64_t queries = count(tile.shape->position(tile.query), tile.queries);
    const int64_t keys = count(tile.key, tile.keys);
    if (queries == 0 && keys == 0) return Visibility::masked;
    return queries == tile.queries || keys == tile.keys ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    uint64_t queries = 0;
    const int64_t query = tile.shape->position(tile.query);
    for (auto p = at(query); p != positions_.end() && *p < query + tile.queries; ++p)
      queries |= uint64_t{1} << (*p - query);
    std::fill_n(visible, tile.keys, queries);
    for (auto p = at(tile.key); p != positions_.end() && *p < tile.key + tile.keys; ++p)
      visible[*p - tile.key] = ~uint64_t{0};
  }
  std::string name() const override {
    constexpr size_t shown = 8;
    if (positions_.size() > shown) return fmt::format("global_positions({} positions)", positions_.size());
    return fmt::format("global_positions({{{}}})", fmt::join(positions_, ", "));
  }

 private:
  std::vector<int64_t>::const_iterator at(int64_t position) const {
    return std::lower_bound(positions_.begin(), positions_.end(), position);
  }
  int64_t count(int64_t first, int64_t positions) const { return at(first + positions) - at(first); }

  std::vector<int64_t> positions_;  // sorted, unique
};

}  // namespace

MaskPtr global_positions(std::vector<int64_t> positions) {
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  require(positions.empty() || positions.front() >= 0, "global_positions", "positions must not be negative, got {}",
          positions.empty() ? 0 : positions.front());
  return std::make_shared<Global>(std::move(positions));
}

}  // namespace qkv
