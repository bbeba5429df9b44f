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
  KeyRange keys(const QueryBlock& block) const override {
    const KeyRange a = a_->keys(block), b = b_->keys(block);
    return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
  }
  Visibility look(const Tile& tile) const override {
    const Visibility a = a_->look(tile);
    return a == Visibility::none ? a : std::min(a, b_->look(tile));
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
  KeyRange keys(const QueryBlock& block) const override {
    const KeyRange a = a_->keys(block), b = b_->keys(block);
    if (a.begin >= a.end) return b;
    if (b.begin >= b.end) return a;
    return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
  }
  Visibility look(const Tile& tile) const override {
    const Visibility a = a_->look(tile);
    return a == Visibility::all ? a : std::max(a, b_->look(tile));
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
  Visibility look(const Tile& tile) const override {
    switch (a_->look(tile)) {
      case Visibility::none: return Visibility::all;
      case Visibility::all: return Visibility::none;
      case Visibility::some: break;
    }
    return Visibility::some;
  }
  void fill(const Tile& tile, uint64_t* visible) const override {
    a_->fill(tile, visible);
    for (int64_t j = 0; j < tile.keys; ++j) visible[j] = ~visible[j];
  }
  std::string name() const override { return fmt::format("!({})", a_->name()); }

 private:
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

MaskPtr MaskPtr::neither(const MaskPtr& a) {
  require(static_cast<bool>(a), "mask", "! needs a mask: an empty one shows everything, and nothing would be left");
  return std::make_shared<Not>(a);
}

uint64_t query_bits(const Tile& tile, int64_t first, int64_t last) {
  const int64_t a = std::clamp<int64_t>(first - tile.query, 0, tile.queries);
  const int64_t b = std::clamp<int64_t>(last - tile.query, a, tile.queries);
  const auto below = [](int64_t n) { return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1; };
  return below(b) & ~below(a);
}

}  // namespace qkv
