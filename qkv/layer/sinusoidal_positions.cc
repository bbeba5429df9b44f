#include "qkv/layer/sinusoidal_positions.h"

#include <algorithm>

#include "qkv/op/position.h"

namespace qkv {

SinusoidalPositions::SinusoidalPositions(int64_t width, int64_t max_positions)
    : width_(width), stored_count_(std::min<int64_t>(max_positions, 4096)) {}

std::pair<Variable, int64_t> SinusoidalPositions::rows(int64_t first, int64_t count) const {
  if (first + count > stored_count_) return {sinusoidal(count, width_, first), 0};
  return {stored_->get([&] { return Variable(sinusoidal(stored_count_, width_)); }), first};
}

}  // namespace qkv
