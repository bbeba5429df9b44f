#include "qkv/layer/sinusoidal_positions.h"

#include <algorithm>

namespace qkv {

SinusoidalPositions::SinusoidalPositions(int64_t width, int64_t max_positions, SinusoidLayout layout)
    : width_(width), max_positions_(max_positions), layout_(layout) {}

std::pair<Variable, int64_t> SinusoidalPositions::rows(int64_t first, int64_t count) const {
  for (size_t i = 0; i < table_sizes.size(); ++i) {
    const int64_t stored = std::min(table_sizes[i], max_positions_);
    if (first + count > stored) continue;
    return {(*tables_)[i].get([&] { return Variable(sinusoidal(stored, width_, {.layout = layout_})); }), first};
  }
  return {sinusoidal(count, width_, {.layout = layout_, .first = first}), 0};
}

}  // namespace qkv
