// Biases that depend only on the distance r = j - p_i of a key from the position p_i = i + S - T of the query. A
// tile of n keys and m queries has n + m - 1 distances. In a list of them from the largest down, every row of the
// tile is contiguous, so a bias is added, and its gradient summed, row by row.
//
//     const TileDistances distances(tile);
//     for (int64_t t = 0; t < distances.count; ++t) bias[t] = f(distances.largest - t);
//     add_by_distance(tile, bias, s);
#pragma once

#include "qkv/attention/tile.h"

namespace qkv::internal {

inline constexpr int64_t max_tile_distances = max_block_keys + max_block_queries - 1;

struct TileDistances {
  int64_t largest, count;
  explicit TileDistances(const Tile& tile)
      : largest(tile.key + tile.keys - 1 - tile.shape->position(tile.query)), count(tile.keys + tile.queries - 1) {}
};

// s_ij += bias[t] for every pair of the tile, t = largest - (j - p_i).
void add_by_distance(const Tile& tile, const float* bias, float* s);
// sums[t] = the sum of ds_ij over the pairs of that distance.
void sum_by_distance(const Tile& tile, const float* ds, float* sums);

}  // namespace qkv::internal
