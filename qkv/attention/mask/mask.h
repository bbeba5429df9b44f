// Who may look at whom. A mask is a value that is shared and never changes; masks combine with & | and !.
//
//     MaskPtr mask = causal() & window(256, 0) & padding(lengths);
//     Tensor y = attention(q, k, v, {.mask = mask});
//
// true means "may look". A mask answers three questions, each about a larger piece than the next, so that pairs
// nobody may see cost nothing:
//     keys(block)    the range of keys that anyone in the block may see: tiles outside are never visited
//     look(tile)     none, all or some of the tile: 'none' is skipped, 'all' is computed without a mask
//     fill(tile)     for 'some': one word a key, bit i set when query i of the tile may see it
// Answers to the first two may be too generous ('some' for a tile that turns out full), never too narrow.
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
  virtual KeyRange keys(const QueryBlock& block) const { return {0, block.whole->S}; }
  virtual Visibility classify(const Tile& tile) const = 0;
  virtual void fill(const Tile& tile, uint64_t* visible) const = 0;
  virtual std::string name() const = 0;  // as one would write it: "causal() & window(256, 0)"
};

// A shared mask; empty: everyone sees every key. A type of its own, because an operator! on std::shared_ptr would
// change what `pointer != nullptr` means.
class MaskPtr {
 public:
  MaskPtr() = default;
  MaskPtr(std::nullptr_t) {}  // NOLINT: implicit on purpose, like the next
  template <class T>
  requires std::is_base_of_v<Mask, T> MaskPtr(std::shared_ptr<T> mask) : mask_(std::move(mask)) {}

  explicit operator bool() const { return mask_ != nullptr; }
  const Mask* operator->() const { return mask_.get(); }
  const Mask& operator*() const { return *mask_; }

  friend MaskPtr operator&(const MaskPtr& a, const MaskPtr& b) { return both(a, b); }    // both allow it
  friend MaskPtr operator|(const MaskPtr& a, const MaskPtr& b) { return either(a, b); }  // one of them allows it
  friend MaskPtr operator!(const MaskPtr& a) { return negate(a); }                       // a does not allow it

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
