#include "qkv/attention/engine/pair_counts.h"

#include <bit>
#include <numeric>
#include <vector>

#include "qkv/attention/engine/tiles.h"
#include "qkv/base/threads.h"

namespace qkv::internal {
namespace {

PairCounts sum(const PairCounts& a, const PairCounts& b) {
  return {a.visible + b.visible, a.computed + b.computed, a.fully_masked + b.fully_masked, a.visited + b.visited,
          a.partial + b.partial};
}

PairCounts count_block(const AttentionCall& call, const QueryBlock& block) {
  PairCounts n;
  const uint64_t all = first_queries(block.queries);
  uint64_t unmasked = 0;  // the queries with a visible key, one bit each
  for_each_visible_tile(call, block, all_keys(call), [&](const Tile& tile, Visibility visibility) {
    ++n.visited;
    if (visibility == Visibility::visible) {
      n.computed += tile.width * tile.keys;
      n.visible += tile.queries * tile.keys;
      unmasked = all;
      return;
    }
    ++n.partial;
    for (const PartialTile::Piece& piece : PartialTile(*call.mask, tile)) {
      n.computed += piece.tile.width * piece.tile.keys;
      for (int64_t j = 0; j < piece.tile.keys; ++j) {
        const uint64_t visible = piece.visible[j] & first_queries(piece.tile.queries);
        n.visible += std::popcount(visible);
        unmasked |= visible << piece.tile.lane;
      }
    }
  });
  n.fully_masked = block.queries - std::popcount(unmasked);
  return n;
}

}  // namespace

PairCounts count_pairs(const AttentionCall& call) {
  const AttentionShape& s = call.shape;
  const int64_t H = call.part.heads;
  std::vector<PairCounts> heads(static_cast<size_t>(s.B * H));
  parallel_for(s.B * H, [&](int64_t i) {
    PairCounts& n = heads[static_cast<size_t>(i)];
    for (int64_t b = 0; b < count_query_blocks(call); ++b)
      n = sum(n, count_block(call, query_block(call, i / H, call.part.head + i % H, b)));
  });
  return std::accumulate(heads.begin(), heads.end(), PairCounts(), sum);
}

double visible_flops(const AttentionCall& call, const PairCounts& counts) {
  const double pair = call.score->pair_flops(call.q.dim(3)) + 2.0 * static_cast<double>(call.shape.E);
  return pair * static_cast<double>(counts.visible);
}

}  // namespace qkv::internal
