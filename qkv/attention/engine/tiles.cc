#include "qkv/attention/engine/tiles.h"

#include <cmath>
#include <cstring>

#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {

int64_t lanes() { return kernel::kernels().lanes; }
int64_t round_to_lanes(int64_t n) { return (n + lanes() - 1) / lanes() * lanes(); }

int64_t block_queries(const AttentionCall& call) {
  constexpr int64_t short_sequence = 512;
  return call.mask && call.shape.T <= short_sequence ? max_block_queries / 2 : max_block_queries;
}
int64_t count_blocks(const AttentionCall& call) {
  const int64_t block = block_queries(call);
  return (call.shape.T + block - 1) / block;
}

bool is_short(const AttentionCall& call) {
  constexpr int64_t few_blocks = 4;
  return count_blocks(call) <= few_blocks;
}
int64_t neighbouring_heads(const AttentionCall& call, int64_t heads) {
  constexpr int64_t most = 8, runs_per_thread = 8;
  return is_short(call) ? std::clamp<int64_t>(heads / (runs_per_thread * threads()), 1, most) : 1;
}

QueryBlock block_of(const AttentionCall& call, int64_t batch, int64_t head, int64_t index) {
  const int64_t block = block_queries(call), query = index * block;
  const int64_t queries = std::min(block, call.shape.T - query);
  return {&call.shape, batch, head, query, queries, round_to_lanes(queries)};
}

namespace {

// The keys of a tile that any of some queries see, from the first to the last; begins at an even key.
KeyRange seen_by(uint64_t queries, const uint64_t* visible, int64_t keys) {
  KeyRange range = {0, keys};
  while (range.begin < range.end && !(visible[range.begin] & queries)) ++range.begin;
  while (range.begin < range.end && !(visible[range.end - 1] & queries)) --range.end;
  return {range.begin / 2 * 2, range.end};
}

bool operator==(const KeyRange& a, const KeyRange& b) { return a.begin == b.begin && a.end == b.end; }

}  // namespace

PartialTile::PartialTile(const Mask& mask, const Tile& tile) {
  constexpr int64_t most = max_block_queries / strip_queries;
  uint64_t visible[max_block_keys];
  mask.fill(tile, visible);
  const uint64_t queries = first_queries(tile.queries);
  for (int64_t j = 0; j < tile.keys; ++j) visible[j] &= queries;

  const KeyRange whole = seen_by(queries, visible, tile.keys);
  const int64_t strips = (tile.width + strip_queries - 1) / strip_queries;
  KeyRange of_strip[most];
  int64_t strip_keys = 0;
  for (int64_t n = 0; n < strips; ++n) {
    of_strip[n] = seen_by(first_queries(strip_queries) << n * strip_queries, visible, tile.keys);
    strip_keys += of_strip[n].end - of_strip[n].begin;
  }
  // A product with few queries is a little slower than one with many: an eighth must be saved.
  if (8 * strip_keys > 7 * strips * (whole.end - whole.begin)) {
    add(tile, 0, tile.width, whole, visible);
    return;
  }
  for (int64_t n = 0; n < strips;) {
    int64_t end = n + 1;
    while (end < strips && of_strip[end] == of_strip[n]) ++end;
    const int64_t lane = n * strip_queries;
    add(tile, lane, std::min(tile.width, end * strip_queries) - lane, of_strip[n], visible);
    n = end;
  }
}

void PartialTile::add(const Tile& tile, int64_t lane, int64_t width, const KeyRange& keys,
                      const uint64_t* visible) {
  const int64_t queries = std::min(width, tile.queries - lane);
  if (keys.begin >= keys.end) return;
  Piece& piece = pieces_[count_++];
  piece.tile = tile;
  piece.tile.query += lane;
  piece.tile.queries = queries;
  piece.tile.width = width;
  piece.tile.lane = lane;
  piece.tile.key += keys.begin;
  piece.tile.keys = keys.end - keys.begin;
  uint64_t all = first_queries(queries);
  for (int64_t j = 0; j < piece.tile.keys; ++j) {
    piece.visible[j] = visible[keys.begin + j] >> lane;
    all &= piece.visible[j];
  }
  piece.all = all == first_queries(queries);
}

void modify_and_mask(const AttentionCall& call, const Tile& tile, const uint64_t* visible, float* s,
                     float* const* modified) {
  for (size_t m = 0; m < call.modify.size(); ++m) {
    const Modifier& modifier = *call.modify[m];
    const auto save = [&](Modifier::Saves when) {
      if (modified && modifier.saves() == when)
        std::memcpy(modified[m], s, static_cast<size_t>(tile.keys * tile.width) * sizeof(float));
    };
    save(Modifier::Saves::raw);
    modifier.forward(tile, s);
    save(Modifier::Saves::modified);
  }
  if (visible) kernel::kernels().attention.mask(s, tile.keys, tile.width, visible);
}

BlockStatistics load_statistics(const SoftmaxStatistics& statistics, const QueryBlock& block, Scratch& scratch) {
  const int64_t at = (block.batch * block.whole->H + block.head) * block.whole->T + block.query;
  float *maximum = scratch.floats(block.width), *inverse_sum = scratch.floats(block.width);
  std::fill_n(maximum, block.width, 0.0f);
  std::fill_n(inverse_sum, block.width, 0.0f);
  const float* ended = statistics.maximum.data<float>() + at;
  for (int64_t i = 0; i < block.queries; ++i) maximum[i] = std::isinf(ended[i]) ? 0.0f : ended[i];
  std::copy_n(statistics.inverse_sum.data<float>() + at, block.queries, inverse_sum);
  return {maximum, inverse_sum};
}

}  // namespace qkv
