#include "qkv/attention/engine/tiles.h"

#include <cmath>
#include <cstring>

#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {

int64_t lanes() { return kernel::kernels().lanes; }
int64_t round_to_lanes(int64_t n) { return rounded_up(n, lanes()); }

int64_t queries_per_block(const AttentionCall& call) {
  constexpr int64_t short_sequence = 512;
  return call.mask && call.shape.T <= short_sequence ? max_block_queries / 2 : max_block_queries;
}
int64_t count_query_blocks(const AttentionCall& call) {
  const int64_t block = queries_per_block(call);
  return ceil_div(call.part.queries, block);
}

bool is_short(const AttentionCall& call) {
  constexpr int64_t max_short_blocks = 4;
  return count_query_blocks(call) <= max_short_blocks;
}
int64_t heads_per_task(const AttentionCall& call, int64_t heads) {
  constexpr int64_t max_heads = 8, tasks_per_thread = 8;
  return is_short(call) ? std::clamp<int64_t>(heads / (tasks_per_thread * threads()), 1, max_heads) : 1;
}

QueryBlock query_block(const AttentionCall& call, int64_t batch, int64_t head, int64_t index) {
  const int64_t block = queries_per_block(call), query = call.part.query + index * block;
  const int64_t queries = std::min(block, call.part.query + call.part.queries - query);
  return {&call.shape, batch, head, query, queries, round_to_lanes(queries)};
}

namespace {

// The smallest range that holds all keys visible to any of `queries`; begins at an even key.
KeyRange visible_range(uint64_t queries, const uint64_t* visible, int64_t keys) {
  KeyRange range = {0, keys};
  while (range.begin < range.end && !(visible[range.begin] & queries)) ++range.begin;
  while (range.begin < range.end && !(visible[range.end - 1] & queries)) --range.end;
  return {range.begin / 2 * 2, range.end};
}

bool operator==(const KeyRange& a, const KeyRange& b) { return a.begin == b.begin && a.end == b.end; }

}  // namespace

PartialTile::PartialTile(const Mask& mask, const Tile& tile) {
  constexpr int64_t max_strips = max_block_queries / strip_queries;
  uint64_t visible[max_block_keys];
  mask.fill(tile, visible);
  const uint64_t queries = first_queries(tile.queries);
  for (int64_t j = 0; j < tile.keys; ++j) visible[j] &= queries;

  const KeyRange keys = visible_range(queries, visible, tile.keys);
  const int64_t strips = ceil_div(tile.width, strip_queries);
  KeyRange of_strip[max_strips];
  int64_t strip_keys = 0;
  for (int64_t n = 0; n < strips; ++n) {
    of_strip[n] = visible_range(first_queries(strip_queries) << n * strip_queries, visible, tile.keys);
    strip_keys += of_strip[n].end - of_strip[n].begin;
  }
  // Products of narrow strips are a little slower: cut only where that saves at least an eighth.
  if (8 * strip_keys > 7 * strips * (keys.end - keys.begin)) {
    add(tile, 0, tile.width, keys, visible);
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
  piece.fully_visible = all == first_queries(queries);
}

void mask_scores(float* s, int64_t keys, int64_t width, const uint64_t* visible) {
  if (width > 1) return kernel::kernels().attention.mask(s, keys, width, visible);
  for (int64_t j = 0; j < keys; ++j)
    if (!(visible[j] & 1)) s[j] = masked_score;
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
  if (visible) mask_scores(s, tile.keys, tile.width, visible);
}

BlockStatistics load_statistics(const SoftmaxStatistics& statistics, const QueryBlock& rows, Scratch& scratch) {
  const int64_t at = offset_in(statistics.maximum, rows);
  float *maximum = scratch.floats(rows.width), *inverse_sum = scratch.floats(rows.width);
  std::fill_n(maximum, rows.width, 0.0f);
  std::fill_n(inverse_sum, rows.width, 0.0f);
  const float* from = statistics.maximum.data<float>() + at;
  for (int64_t i = 0; i < rows.queries; ++i) maximum[i] = std::isinf(from[i]) ? 0.0f : from[i];
  std::copy_n(statistics.inverse_sum.data<float>() + at, rows.queries, inverse_sum);
  return {maximum, inverse_sum};
}

}  // namespace qkv::internal
