#include "qkv/attention/modify/distance_bias.h"

#include <algorithm>

#include "qkv/kernel/kernels.h"

namespace qkv::internal {

// For query i and key j of the tile: t = (keys - 1 - j) + i.

void add_by_distance(const Tile& tile, const float* bias, float* s) {
  if (tile.queries == 1) {
    for (int64_t j = 0; j < tile.keys; ++j) s[j * tile.width] += bias[tile.keys - 1 - j];
    return;
  }
  const auto add = kernel::kernels().rows.add;
  for (int64_t j = 0; j < tile.keys; ++j) {
    float* row = s + j * tile.width;
    add(row, bias + (tile.keys - 1 - j), tile.queries, row);
  }
}

void sum_by_distance(const Tile& tile, const float* ds, float* sums) {
  const auto add = kernel::kernels().rows.add;
  std::fill_n(sums, TileDistances(tile).count, 0.0f);
  for (int64_t j = 0; j < tile.keys; ++j) {
    float* run = sums + (tile.keys - 1 - j);
    add(run, ds + j * tile.width, tile.queries, run);
  }
}

}  // namespace qkv::internal
