#include "qkv/tensor/free_ranges.h"

#include <algorithm>
#include <functional>

namespace qkv {

std::byte* FreeRanges::take(int64_t bytes) {
  auto best = ranges_.end();
  for (auto at = ranges_.begin(); at != ranges_.end(); ++at)
    if (at->bytes >= bytes && (best == ranges_.end() || at->bytes < best->bytes)) best = at;
  if (best == ranges_.end()) return nullptr;
  best->bytes -= bytes;
  std::byte* const taken = best->end();
  if (best->bytes == 0) ranges_.erase(best);
  return taken;
}

int64_t FreeRanges::bytes_from(const std::byte* begin) const {
  const auto at = std::ranges::lower_bound(ranges_, begin, std::less<>(), &Range::begin);
  return at != ranges_.end() && at->begin == begin ? at->bytes : 0;
}

FreeRanges::Range FreeRanges::take_largest() {
  const auto largest = std::ranges::max_element(ranges_, {}, &Range::bytes);
  if (largest == ranges_.end()) return {};
  const Range taken = *largest;
  ranges_.erase(largest);
  return taken;
}

void FreeRanges::give(Range range) {
  const auto next = std::ranges::upper_bound(ranges_, range.begin, std::less<>(), &Range::begin);
  const bool joins_next = next != ranges_.end() && range.end() == next->begin;
  const bool joins_previous = next != ranges_.begin() && std::prev(next)->end() == range.begin;
  if (joins_previous) {
    std::prev(next)->bytes += range.bytes;
    if (!joins_next) return;
    std::prev(next)->bytes += next->bytes;
    ranges_.erase(next);
  } else if (joins_next) {
    *next = {range.begin, range.bytes + next->bytes};
  } else {
    ranges_.insert(next, range);
  }
}

void FreeRanges::reserve(size_t ranges_to_be_given) {
  const size_t needed = ranges_.size() + ranges_to_be_given;
  if (ranges_.capacity() < needed) ranges_.reserve(2 * needed);
}

}  // namespace qkv
