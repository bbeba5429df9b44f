// The tile loop of every pass: over the blocks of queries of a call, and for each block over the tiles of keys that
// are not masked.
#pragma once

#include <algorithm>

#include "qkv/attention/engine/call.h"
#include "qkv/attention/tile.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/attention_kernels.h"
#include "qkv/tensor/tensor.h"

namespace qkv::internal {

// What the normalizer ended with for every query, (B,H,T): the maximum score (-infinity where no key is visible)
// and one over the sum of exp(score - maximum) (0 there).
struct SoftmaxStatistics {
  Tensor maximum, inverse_sum;
};

int64_t lanes();  // floats in a SIMD register of the kernels in use
int64_t round_to_lanes(int64_t n);

// How T is cut into blocks: narrower ones for short sequences under a mask, which wastes less of partial tiles.
int64_t queries_per_block(const AttentionCall& call);
int64_t count_query_blocks(const AttentionCall& call);
QueryBlock query_block(const AttentionCall& call, int64_t batch, int64_t head, int64_t index);
// Where the block is in the tensors of the call, which have the heads and queries of its part.
inline QueryBlock rows_of(const AttentionCall& call, QueryBlock block) {
  block.head -= call.part.head;
  block.query -= call.part.query;
  return block;
}

// Reading and writing a short sequence takes about as long as computing it. So the forward prefetches, and a task
// takes several heads that are adjacent in memory, if every thread still has enough tasks.
bool is_short(const AttentionCall& call);
int64_t heads_per_task(const AttentionCall& call, int64_t heads);

// The address of a row of a (batch, head, row, width) tensor.
template <class T = float, class X>
auto* row_pointer(X& x, int64_t batch, int64_t head, int64_t row) {
  return x.template data<T>() + batch * x.stride(0) + head * x.stride(1) + row * x.stride(2);
}

// The same for bf16, as the bits that kernels read.
inline const uint16_t* bf16_row_pointer(const Tensor& x, int64_t batch, int64_t head, int64_t row) {
  return reinterpret_cast<const uint16_t*>(row_pointer<bfloat16>(x, batch, head, row));
}

// Calls visit(tile, visibility) for every tile of the block with keys in `clip` that is not masked, in the order of
// the keys. Tiles begin at an even distance from the first key of `clip`, so VNNI units are not split.
template <class Visit>
void for_each_visible_tile(const AttentionCall& call, const QueryBlock& block, const KeyRange& clip, Visit visit) {
  const KeyRange range = call.mask ? call.mask->key_range(block) : clip;
  const int64_t end = std::min(clip.end, range.end);
  for (int64_t key = std::max(clip.begin, clip.begin + (range.begin - clip.begin) / 2 * 2); key < end;
       key += max_block_keys) {
    Tile tile{block, key, std::min(max_block_keys, end - key)};
    const Visibility visibility = call.mask ? call.mask->classify(tile) : Visibility::visible;
    if (visibility != Visibility::masked) visit(tile, visibility);
  }
}

// A partially masked tile, cut down to its visible part: keys that no query sees are cut off at both ends, and the
// queries are cut into strips with key ranges of their own where that saves enough.
class PartialTile {
 public:
  struct Piece {
    Tile tile;
    bool fully_visible = false;
    uint64_t visible[max_block_keys];  // unless fully_visible: as filled by Mask::fill()
  };

  PartialTile(const Mask& mask, const Tile& tile);
  const Piece* begin() const { return pieces_; }
  const Piece* end() const { return pieces_ + count_; }

 private:
  void add(const Tile& tile, int64_t lane, int64_t width, const KeyRange& keys, const uint64_t* visible);

  Piece pieces_[max_block_queries / strip_queries];
  int64_t count_ = 0;
};

// Calls visit(tile, visible) for everything that the engine computes in a block: fully visible tiles, and the
// pieces of partially masked ones. visible is null for a fully visible tile or piece.
template <class Visit>
void for_each_tile(const AttentionCall& call, const QueryBlock& block, const KeyRange& clip, Visit visit) {
  for_each_visible_tile(call, block, clip, [&](const Tile& tile, Visibility visibility) {
    if (visibility == Visibility::visible) return visit(tile, nullptr);
    for (const PartialTile::Piece& piece : PartialTile(*call.mask, tile))
      visit(piece.tile, piece.fully_visible ? nullptr : piece.visible);
  });
}

inline KeyRange all_keys(const AttentionCall& call) { return {call.part.key, call.part.key + call.part.keys}; }

// s (keys x width) becomes masked_score where bit i of visible[j] is 0; width is 1 or a multiple of the lanes.
void mask_scores(float* s, int64_t keys, int64_t width, const uint64_t* visible);

// Applies the modifiers and the mask to raw scores s (keys x width). Where a modifier needs its own output in the
// backward, it is copied to modified[m], if given.
void modify_and_mask(const AttentionCall& call, const Tile& tile, const uint64_t* visible, float* s,
                     float* const* modified = nullptr);

// Where the numbers of some queries begin in x, (B,H,T).
inline int64_t offset_in(const Tensor& x, const QueryBlock& rows) {
  return (rows.batch * x.dim(1) + rows.head) * x.dim(2) + rows.query;
}

// The online softmax before its first tile.
inline void reset(const kernel::RunningSoftmax& running, int64_t width) {
  std::fill_n(running.maximum, width, masked_score);
  std::fill_n(running.sum, width, 0.0f);
}

// The statistics of a block for Normalizer::weights(): 0 and 0 for a query without visible keys.
struct BlockStatistics {
  const float *maximum, *inverse_sum;
};
BlockStatistics load_statistics(const SoftmaxStatistics& statistics, const QueryBlock& rows, Scratch& scratch);

}  // namespace qkv::internal
