#include "qkv/attention/mask/mask.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

class And final : public Mask {
 public:
  And(MaskPtr a, MaskPtr b) : a_(std::move(a)), b_(std::move(b)) {}
  void check(const AttentionShape& shape) const override {
    a_->check(shape);
    b_->check(shape);
  }
  KeyRange key_range(const QueryBlock& block) const override {
    const KeyRange a = a_->key_range(block), b = b_->key_range(block);
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  }
  Visibility classify(const Tile& tile) const override {
    const Visibility a = a_->classify(tile);
    return a == Visibility::masked ? a : std::min(a, b_->classify(tile));
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    a_->fill(tile, visible);
    uint64_t other[max_block_keys];
    b_->fill(tile, other);
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] &= other[j];
  }
  std::string name() const override { return fmt::format("{} & {}", a_->name(), b_->name()); }

 private:
  MaskPtr a_, b_;
};

class Or final : public Mask {
 public:
  Or(MaskPtr a, MaskPtr b) : a_(std::move(a)), b_(std::move(b)) {}
  void check(const AttentionShape& shape) const override {
    a_->check(shape);
    b_->check(shape);
  }
  KeyRange key_range(const QueryBlock& block) const override {
    const KeyRange a = a_->key_range(block), b = b_->key_range(block);
    if (a.begin >= a.end) return b;
    if (b.begin >= b.end) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
  }
  Visibility classify(const Tile& tile) const override {
    const Visibility a = a_->classify(tile);
    return a == Visibility::visible ? a : std::max(a, b_->classify(tile));
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    a_->fill(tile, visible);
    uint64_t other[max_block_keys];
    b_->fill(tile, other);
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] |= other[j];
  }
  std::string name() const override { return fmt::format("({} | {})", a_->name(), b_->name()); }

 private:
  MaskPtr a_, b_;
};

class Not final : public Mask {
 public:
  explicit Not(MaskPtr a) : a_(std::move(a)) {}
  void check(const AttentionShape& shape) const override { a_->check(shape); }
  // Leaves out the first and the last keys that all queries of the block see in a_.
  KeyRange key_range(const QueryBlock& block) const override {
    KeyRange range{0, block.shape->S};
    while (range.begin < range.end) {
      const Tile tile{block, range.begin, std::min(max_block_keys, range.end - range.begin)};
      const int64_t run = visible_run(tile, true);
      range.begin += run;
      if (run < tile.keys) break;
    }
    while (range.begin < range.end) {
      const int64_t keys = std::min(max_block_keys, range.end - range.begin);
      const int64_t run = visible_run({block, range.end - keys, keys}, false);
      range.end -= run;
      if (run < keys) break;
    }
    return range;
  }
  Visibility classify(const Tile& tile) const override {
    switch (a_->classify(tile)) {
      case Visibility::masked: return Visibility::visible;
      case Visibility::visible: return Visibility::masked;
      case Visibility::partial: break;
    }
    return Visibility::partial;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    a_->fill(tile, visible);
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] = ~visible[j];
  }
  std::string name() const override { return fmt::format("!({})", a_->name()); }

 private:
  // The number of consecutive keys that all queries of the tile see in a_, counted from its first or its last key.
  int64_t visible_run(const Tile& tile, bool from_first) const {
    const Visibility visibility = a_->classify(tile);
    if (visibility != Visibility::partial) return visibility == Visibility::visible ? tile.keys : 0;
    uint64_t visible[max_block_keys];
    a_->fill(tile, visible);
    const uint64_t all_queries = first_queries(tile.queries);
    int64_t run = 0;
    while (run < tile.keys && (~visible[from_first ? run : tile.keys - 1 - run] & all_queries) == 0) ++run;
    return run;
  }

  MaskPtr a_;
};

}  // namespace

MaskPtr MaskPtr::both(const MaskPtr& a, const MaskPtr& b) {
  if (!a.mask_) return b;
  if (!b.mask_) return a;
  return std::make_shared<And>(a, b);
}

MaskPtr MaskPtr::either(const MaskPtr& a, const MaskPtr& b) {
  if (!a.mask_ || !b.mask_) return {};
  return std::make_shared<Or>(a, b);
}

MaskPtr MaskPtr::negate(const MaskPtr& a) {
  require(static_cast<bool>(a), "mask", "! of an empty mask would mask every pair");
  return std::make_shared<Not>(a);
}

}  // namespace qkv
