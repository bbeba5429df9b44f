// Masks: which keys a query may attend to. true means visible. A mask is shared and immutable; masks combine with
// & | and !.
//
//     MaskPtr mask = causal() & window(256, 0) & padding(lengths);
//     Tensor y = attention(q, k, v, {.mask = mask});
//
// A mask is evaluated in three steps, so that masked pairs cost nothing:
//     key_range(block)   keys outside this range are masked for all queries of the block: their tiles are skipped
//     classify(tile)     masked: the tile is skipped; visible: computed without a mask; partial: fill() decides
//     fill(tile)         for partially masked tiles: one uint64_t per key, bit i set if query i of the tile sees it
// The first two may be conservative (a wider range; partial for a tile that is fully visible), never the opposite.
// Errors: ! of an empty mask; a mask that does not fit the shapes of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "qkv/attention/tile.h"

namespace qkv {

struct KeyRange {
  int64_t begin = 0, end = 0;
};

enum class Visibility { masked, partial, visible };

class Mask {
 public:
  virtual ~Mask() = default;

  // Throws when the mask does not fit the call (a length beyond S, a table of another batch size).
  virtual void check(const AttentionShape&) const {}
  virtual KeyRange key_range(const QueryBlock& block) const { return {0, block.shape->S}; }
  virtual Visibility classify(const Tile& tile) const = 0;
  virtual void fill(const Tile& tile, uint64_t* visible) const = 0;
  virtual std::string name() const = 0;  // as C++: "causal() & window(256, 0)"
};

// A shared mask; empty: every query sees every key. Not a std::shared_ptr, because operator! on one would change
// the meaning of `pointer != nullptr`.
class MaskPtr {
 public:
  MaskPtr() = default;
  // NOLINTBEGIN: implicit, as they are for a std::shared_ptr
  MaskPtr(std::nullptr_t) {}
  template <class T>
  requires std::is_base_of_v<Mask, T> MaskPtr(std::shared_ptr<T> mask) : mask_(std::move(mask)) {}
  // NOLINTEND

  explicit operator bool() const { return mask_ != nullptr; }
  const Mask* operator->() const { return mask_.get(); }
  const Mask& operator*() const { return *mask_; }

  friend MaskPtr operator&(const MaskPtr& a, const MaskPtr& b) { return both(a, b); }    // visible in both
  friend MaskPtr operator|(const MaskPtr& a, const MaskPtr& b) { return either(a, b); }  // visible in a or b
  friend MaskPtr operator!(const MaskPtr& a) { return negate(a); }                       // masked in a

 private:
  static MaskPtr both(const MaskPtr& a, const MaskPtr& b);
  static MaskPtr either(const MaskPtr& a, const MaskPtr& b);
  static MaskPtr negate(const MaskPtr& a);

  std::shared_ptr<const Mask> mask_;
};

// The bits of the first n queries of a block, for fill(): none for n <= 0, all for n >= 64.
inline uint64_t first_queries(int64_t n) {
  if (n <= 0) return 0;
  return n >= 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
}

}  // namespace qkv
