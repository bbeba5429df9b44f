// The walk over tiles that every pass of the engine makes: blocks of queries, and for each the tiles of keys that
// anyone in the block may see. The passes differ in what they do at a tile.
#pragma once

#include <algorithm>

#include "qkv/attention/options.h"
#include "qkv/attention/tile.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// A call, checked and prepared: q, k are what the score reads, v the values. All three are f32, or all are bf16 and
// fit for products of pairs.
struct AttentionCall {
  AttentionShape shape;
  Tensor q, k, v;
  ScorePtr score;
  std::vector<ModifierPtr> modify;
  MaskPtr mask;
  NormalizerPtr normalize;
  std::vector<ReweigherPtr> reweigh;
  bool single_queries = false;  // runs in single.cc

  bool is_bf16() const { return q.dtype() == DType::bf16; }
};

// What the normalizer ended with for every query, (B,H,T): the largest score (-infinity when there was none) and
// one over the sum of exp(score - maximum) (0 when there was none).
struct SoftmaxStatistics {
  Tensor maximum, inverse_sum;
};

int64_t lanes();  // of the kernels in use
int64_t round_to_lanes(int64_t n);

// How T is cut into blocks. Under a mask short sequences get narrower ones: less of a tile at the edge is wasted.
int64_t block_queries(const AttentionCall& call);
int64_t count_blocks(const AttentionCall& call);
QueryBlock block_of(const AttentionCall& call, int64_t batch, int64_t head, int64_t index);

// Sequences of so few blocks are short: reading and writing them takes about as long as computing. So the forward
// asks for memory before it needs it, and a thread takes several heads that are neighbours there (as many as leave
// every thread enough to do). The backward gains nothing by either.
bool is_short(const AttentionCall& call);
int64_t neighbouring_heads(const AttentionCall& call, int64_t heads);

// Rows of a (batch, head, row, width) tensor.
template <class T = float, class X>
auto* rows(X& x, int64_t batch, int64_t head, int64_t row) {
  return x.template data<T>() + batch * x.stride(0) + head * x.stride(1) + row * x.stride(2);
}

// The same of bf16, as kernels read them.
inline const uint16_t* halves(const Tensor& x, int64_t batch, int64_t head, int64_t row) {
  return reinterpret_cast<const uint16_t*>(rows<bfloat16>(x, batch, head, row));
}

// visit(tile, visibility) for every tile of the block with keys in `clip` that is not 'none', in the order of the
// keys. Tiles begin at even keys: pairs of bf16 are not torn apart.
template <class Visit>
void for_each_visible_tile(const AttentionCall& call, const QueryBlock& block, const KeyRange& clip, Visit visit) {
  const KeyRange range = call.mask ? call.mask->keys(block) : clip;
  const int64_t end = std::min(clip.end, range.end);
  for (int64_t key = std::max(clip.begin, range.begin / 2 * 2); key < end; key += max_block_keys) {
    Tile tile{block, key, std::min(max_block_keys, end - key)};
    const Visibility visibility = call.mask ? call.mask->classify(tile) : Visibility::visible;
    if (visibility != Visibility::masked) visit(tile, visibility);
  }
}

// A tile that is visible in part, cut down to what is: keys that nobody sees are cut off at both ends, and where
// that saves enough, strips of queries are cut apart, each with keys of its own.
class PartialTile {
 public:
  struct Piece {
    Tile tile;
    bool all;                          // everyone sees every key
    uint64_t visible[max_block_keys];  // otherwise: as Mask::fill says it
  };

  PartialTile(const Mask& mask, const Tile& tile);
  const Piece* begin() const { return pieces_; }
  const Piece* end() const { return pieces_ + count_; }

 private:
  void add(const Tile& tile, int64_t lane, int64_t width, const KeyRange& keys, const uint64_t* visible);

  Piece pieces_[max_block_queries / strip_queries];
  int64_t count_ = 0;
};

// visit(tile, visible) for everything that the engine computes of a block: whole tiles, and pieces of those that
// are visible in part. visible is null where all is.
template <class Visit>
void for_each_tile(const AttentionCall& call, const QueryBlock& block, const KeyRange& clip, Visit visit) {
  for_each_visible_tile(call, block, clip, [&](const Tile& tile, Visibility visibility) {
    if (visibility == Visibility::visible) return visit(tile, nullptr);
    for (const PartialTile::Piece& piece : PartialTile(*call.mask, tile))
      visit(piece.tile, piece.all ? nullptr : piece.visible);
  });
}

inline KeyRange all_keys(const AttentionCall& call) { return {0, call.shape.S}; }

// modify, mask: from raw scores s (keys x width). Where a modifier needs its own output in the backward, it is
// copied to modified[m], if given.
void modify_and_mask(const AttentionCall& call, const Tile& tile, const uint64_t* visible, float* s,
                     float* const* modified = nullptr);

// The statistics of a block as normalizers want them: a query without keys has maximum 0 and inverse sum 0.
struct BlockStatistics {
  const float *maximum, *inverse_sum;
};
BlockStatistics load_statistics(const SoftmaxStatistics& statistics, const QueryBlock& block,
                                class Scratch& scratch);

}  // namespace qkv
