// Biases that depend on nothing but the distance r = j - p_i of a key from the query's own position, p_i = i + S -
// T. A tile of n keys and m queries has only n + m - 1 distances; listed from the largest down, every row of the
// tile is a run of the list, so a bias is added, and its gradient summed, by whole rows.
//
//     const TileDistances distances(tile);
//     for (int64_t t = 0; t < distances.count; ++t) bias[t] = f(distances.largest - t);
//     add_by_distance(tile, bias, s);
#pragma once

#include "qkv/attention/tile.h"

namespace qkv {

inline constexpr int64_t max_tile_distances = max_block_keys + max_block_queries - 1;

struct TileDistances {
  int64_t largest, count;
  explicit TileDistances(const Tile& tile)
      : largest(tile.key + tile.keys - 1 - tile.whole->position(tile.query)), count(tile.keys + tile.queries - 1) {}
};

// s_ij += bias[t] for every pair of the tile, t = largest - (j - p_i).
void add_by_distance(const Tile& tile, const float* bias, float* s);
// sums[t] = the sum of ds_ij over the pairs of that distance.
void sum_by_distance(const Tile& tile, const float* ds, float* sums);

}  // namespace qkv
