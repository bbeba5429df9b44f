// Base of masks that are rules of single pairs: dense(), mask_mod(), bigbird(). The rule is evaluated once per
// shape, when the first call with that shape checks its mask, and kept as a block map (block_map.h).
//
// Keeps the maps of the last shapes. Thread-safe, also for calls with different shapes.
#pragma once

#include <memory>
#include <shared_mutex>
#include <vector>

#include "qkv/attention/mask/block_map.h"

namespace qkv::internal {

class MappedMask : public Mask {
 public:
  void check(const AttentionShape& shape) const override;
  KeyRange key_range(const QueryBlock& block) const final;
  Visibility classify(const Tile& tile) const final;
  void fill(const Tile& tile, uint64_t* visible) const final;

 protected:
  explicit MappedMask(const MaskAxes& axes) : axes_(axes) {}
  // The rule, as Mask::fill(); called by several threads. On axes that the mask does not depend on, only index 0.
  virtual void evaluate(const Tile& tile, uint64_t* visible) const = 0;

 private:
  template <class Lookup>
  auto from_map(const AttentionShape& shape, Lookup lookup) const;

  MaskAxes axes_;
  mutable std::shared_mutex mutex_;
  mutable std::vector<std::unique_ptr<const BlockMap>> maps_;  // oldest first
};

}  // namespace qkv::internal
