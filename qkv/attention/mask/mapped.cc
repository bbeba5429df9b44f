#include "qkv/attention/mask/mapped.h"

#include <mutex>

namespace qkv {

constexpr size_t most_maps = 4;

// Answers under the lock, so that no map goes while somebody reads it; makes one without the lock.
template <class Answer>
auto MappedMask::from_map(const AttentionShape& shape, Answer answer) const {
  for (;;) {
    {
      const std::shared_lock lock(mutex_);
      for (auto map = maps_.rbegin(); map != maps_.rend(); ++map)
        if ((*map)->fits(shape)) return answer(**map);
    }
    auto made = std::make_unique<const BlockMap>(
        shape, axes_, [this](const Tile& tile, uint64_t* visible) { evaluate(tile, visible); });
    const std::unique_lock lock(mutex_);
    if (maps_.size() == most_maps) maps_.erase(maps_.begin());
    maps_.push_back(std::move(made));
  }
}

void MappedMask::check(const AttentionShape& shape) const {
  from_map(shape, [](const BlockMap&) {});
}
KeyRange MappedMask::keys(const QueryBlock& block) const {
  return from_map(*block.whole, [&](const BlockMap& map) { return map.keys(block); });
}
Visibility MappedMask::classify(const Tile& tile) const {
  return from_map(*tile.whole, [&](const BlockMap& map) { return map.classify(tile); });
}
void MappedMask::fill(const Tile& tile, uint64_t* visible) const {
  from_map(*tile.whole, [&](const BlockMap& map) { map.fill(tile, visible); });
}

}  // namespace qkv
