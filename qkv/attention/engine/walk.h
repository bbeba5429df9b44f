// The walk over tiles that every pass of the engine makes: blocks of queries, and for each the tiles of keys that
// anyone in the block may see. forward.cc, backward.cc and weights.cc differ in what they do at a tile.
#pragma once

#include "qkv/attention/options.h"
#include "qkv/attention/tile.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// A call, checked and prepared: q, k are what the score reads, v the values.
struct AttentionCall {
  AttentionShape shape;
  Tensor q, k, v;
  ScorePtr score;
  std::vector<ModifierPtr> modify;
  MaskPtr mask;
  std::vector<ReweigherPtr> reweigh;
};

// What the softmax of every query ended with, (B,H,T): the largest visible score (-infinity when there is none) and
// one over the sum of exp(score - maximum) (0 when there is none).
struct SoftmaxStatistics {
  Tensor maximum, inverse_sum;
};

int64_t lanes();  // of the kernels in use
int64_t round_to_lanes(int64_t n);
int64_t block_queries();  // queries in a full block
int64_t count_blocks(int64_t queries);
QueryBlock block_of(const AttentionShape& shape, int64_t batch, int64_t head, int64_t index);

// Rows of a (batch, head, row, width) tensor.
template <class T>
auto* rows(T& x, int64_t batch, int64_t head, int64_t row) {
  return x.template data<float>() + batch * x.stride(0) + head * x.stride(1) + row * x.stride(2);
}

// visit(tile, visibility) for every tile of the block that is not 'none', in the order of the keys.
template <class Visit>
void for_each_tile(const AttentionCall& call, const QueryBlock& block, Visit visit) {
  const KeyRange range = call.mask ? call.mask->keys(block) : KeyRange{0, block.whole->S};
  for (int64_t key = range.begin; key < range.end; key += max_block_keys) {
    Tile tile{block, key, std::min(max_block_keys, range.end - key)};
    const Visibility visibility = call.mask ? call.mask->look(tile) : Visibility::all;
    if (visibility != Visibility::none) visit(tile, visibility);
  }
}

// The queries of a block as the score wants them.
ScoreOperands pack_queries(const AttentionCall& call, const QueryBlock& block, bool with_rows,
                           class Scratch& scratch);
// The operands with the keys of a tile.
ScoreOperands at_tile(ScoreOperands operands, const AttentionCall& call, const Tile& tile);

// score, modify, mask: fills s (keys x width). Where a modifier needs its own output in the backward, it is copied
// to modified[m], if given.
void fill_scores(const AttentionCall& call, const Tile& tile, Visibility visibility, const ScoreOperands& operands,
                 float* s, float* const* modified = nullptr);

// The statistics of a block as the weights kernel wants them: a query without keys has maximum 0 and inverse sum 0.
struct BlockStatistics {
  float *maximum, *inverse_sum;
};
BlockStatistics load_statistics(const SoftmaxStatistics& statistics, const QueryBlock& block,
                                class Scratch& scratch);

}  // namespace qkv
