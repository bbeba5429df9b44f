#include "qkv/attention/mask/window.h"

#include <algorithm>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class Window final : public Mask {
 public:
  Window(int64_t left, int64_t right, std::optional<int64_t> offset)
      : left_(left), right_(right), offset_(offset) {}

  KeyRange key_range(const QueryBlock& block) const override {
    const int64_t S = block.shape->S;
    return {std::clamp<int64_t>(first(block, block.query), 0, S),
            std::clamp<int64_t>(last(block, block.query + block.queries - 1) + 1, 0, S)};
  }
  Visibility classify(const Tile& tile) const override {
    const int64_t end_query = tile.query + tile.queries - 1, end_key = tile.key + tile.keys - 1;
    if (end_key < first(tile, tile.query) || tile.key > last(tile, end_query)) return Visibility::masked;
    const bool all = tile.key >= first(tile, end_query) && end_key <= last(tile, tile.query);
    return all ? Visibility::visible : Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    // Key j is seen by the queries with positions in [j - right, j + left].
    const int64_t own = tile.key - position(tile, tile.query);
    const int64_t first = right_ < 0 ? -tile.keys : own - right_;
    const int64_t end = left_ < 0 ? max_block_queries : own + left_ + 1;
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] = first_queries(end + j) & ~first_queries(first + j);
  }
  std::string name() const override {
    return offset_ ? fmt::format("window({}, {}, {})", left_, right_, *offset_)
                   : fmt::format("window({}, {})", left_, right_);
  }

 private:
  int64_t position(const QueryBlock& block, int64_t query) const {
    return offset_ ? query + *offset_ : block.shape->position(query);
  }
  int64_t first(const QueryBlock& block, int64_t query) const {
    return left_ < 0 ? 0 : position(block, query) - left_;
  }
  int64_t last(const QueryBlock& block, int64_t query) const {
    return right_ < 0 ? block.shape->S - 1 : position(block, query) + right_;
  }

  int64_t left_, right_;
  std::optional<int64_t> offset_;
};

}  // namespace

MaskPtr window(int64_t left, int64_t right, std::optional<int64_t> offset) {
  constexpr int64_t limit = int64_t{1} << 40;
  require(left >= -1 && right >= -1 && left < limit && right < limit, "window",
          "left and right must be numbers of positions, or -1 for unbounded; got ({}, {})", left, right);
  return std::make_shared<Window>(left, right, offset);
}

}  // namespace qkv
