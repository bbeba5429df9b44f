// The masks that say pair by pair who sees whom, and are noted in a block map (block_map.h) so that a pair is asked
// about once, not in every call: once for a shape, when the first call with it checks its mask. A part of the
// library: Dense and mask_mod() are made of it.
//
// The maps of the last shapes are kept. Calls may run side by side, with different shapes, too.
#pragma once

#include <memory>
#include <shared_mutex>
#include <vector>

#include "qkv/attention/mask/block_map.h"

namespace qkv {

class MappedMask : public Mask {
 public:
  void check(const AttentionShape& shape) const override;
  KeyRange keys(const QueryBlock& block) const final;
  Visibility classify(const Tile& tile) const final;
  void fill(const Tile& tile, uint64_t* visible) const final;

 protected:
  explicit MappedMask(const MaskAxes& axes) : axes_(axes) {}
  // As fill(), pair by pair; several threads ask side by side. Axes that do not matter are asked about at 0 alone.
  virtual void evaluate(const Tile& tile, uint64_t* visible) const = 0;

 private:
  template <class Answer>
  auto from_map(const AttentionShape& shape, Answer answer) const;

  MaskAxes axes_;
  mutable std::shared_mutex mutex_;
  mutable std::vector<std::unique_ptr<const BlockMap>> maps_;  // oldest first
};

}  // namespace qkv
