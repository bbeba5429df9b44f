#include "qkv/attention/mask/mapped.h"

#include <mutex>

namespace qkv::internal {

constexpr size_t max_maps = 4;

// lookup(map) under the lock, so that the map is not erased meanwhile. A new map is made without the lock.
template <class Lookup>
auto MappedMask::from_map(const AttentionShape& shape, Lookup lookup) const {
  for (;;) {
    {
      const std::shared_lock lock(mutex_);
      for (auto map = maps_.rbegin(); map != maps_.rend(); ++map)
        if ((*map)->fits(shape)) return lookup(**map);
    }
    auto made = std::make_unique<const BlockMap>(
        shape, axes_, [this](const Tile& tile, uint64_t* visible) { evaluate(tile, visible); });
    const std::unique_lock lock(mutex_);
    if (maps_.size() == max_maps) maps_.erase(maps_.begin());
    maps_.push_back(std::move(made));
  }
}

void MappedMask::check(const AttentionShape& shape) const {
  from_map(shape, [](const BlockMap&) {});
}
KeyRange MappedMask::key_range(const QueryBlock& block) const {
  return from_map(*block.shape, [&](const BlockMap& map) { return map.key_range(block); });
}
Visibility MappedMask::classify(const Tile& tile) const {
  return from_map(*tile.shape, [&](const BlockMap& map) { return map.classify(tile); });
}
void MappedMask::fill(const Tile& tile, uint64_t* visible) const {
  from_map(*tile.shape, [&](const BlockMap& map) { map.fill(tile, visible); });
}

}  // namespace qkv::internal
