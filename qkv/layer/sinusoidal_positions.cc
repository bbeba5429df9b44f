#include "qkv/layer/sinusoidal_positions.h"

#include <algorithm>

namespace qkv {

SinusoidalPositions::SinusoidalPositions(int64_t width, int64_t max_positions, SinusoidLayout layout)
    : width_(width), stored_count_(std::min<int64_t>(max_positions, 4096)), layout_(layout) {}

std::pair<Variable, int64_t> SinusoidalPositions::rows(int64_t first, int64_t count) const {
  if (first + count > stored_count_) return {sinusoidal(count, width_, {.layout = layout_, .first = first}), 0};
  return {stored_->get([&] { return Variable(sinusoidal(stored_count_, width_, {.layout = layout_})); }), first};
}

}  // namespace qkv
