// Steps of both passes, each on one head or one chunk of keys of a row block.
#pragma once

#include "qkv/attention/multi_token/row_block.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {

// The kernels of the instruction set in use.
inline const kernel::MultiTokenKernels& loops() { return kernel::kernels().multi_token; }
inline const kernel::TileProducts& products() { return kernel::kernels().attention.products; }

// Rows of one head of a block, (width x row_width), and their transpose (columns x width). Zero in the lanes
// without a query and past the columns.
struct PackedRows {
  float *rows = nullptr, *transposed = nullptr;
  int64_t row_width = 0, columns = 0;
};
int64_t packed_size(int64_t columns, int64_t width);
// Lanes [begin, end) are rows query, query + 1, ... of x (B,H,*,columns).
void pack_rows(const Tensor& x, const RowBlock& block, int64_t head, int64_t query, int64_t begin, int64_t end,
               float* memory, PackedRows& packed);

// s (keys x width) = scale * K Q^T
void compute_scores(const MultiTokenCall& call, const RowBlock& block, int64_t head, const PackedRows& q, float* s);
// out = scores, convolved if there is a pre_conv.
void convolved_scores(const MultiTokenCall& call, const RowBlock& block, int64_t head, const PackedRows& q,
                      const uint64_t* visible, float* out);
// c = p, convolved if there is a post_conv, then masked with zeros. p has a border.
void convolved_weights(const MultiTokenCall& call, const RowBlock& block, int64_t head, float* p,
                       const uint64_t* visible, float* c);

// Applies dropout in place, to the weights or to their gradient: rows of one head, of the keys from `key` on. A
// pair has the same random number as in weight_dropout().
void drop_weights(const MultiTokenCall& call, const RowBlock& block, int64_t head, int64_t key, int64_t keys,
                  float* w);

// out = mix(in) over `count` floats of every head. Not in place.
struct StridedHeads {
  float* data;
  int64_t stride;
};
void mix_heads(const HeadMix& mix, const StridedHeads& in, bool transposed, int64_t count, const StridedHeads& out,
               int64_t H);
// The same in place, for the keys of a chunk.
void mix_chunk(const HeadMix& mix, bool transposed, const RowBlock& block, const KeyRange& keys,
               const StridedHeads& heads, int64_t H);

// Calls visit(first float, number of floats) for pieces of a few rows: all heads of a piece fit in the L1 cache.
template <class Visit>
void for_each_piece(const RowBlock& block, const KeyRange& keys, int64_t piece_rows, Visit visit) {
  for (int64_t key = keys.begin; key < keys.end; key += piece_rows)
    visit((key - block.keys.begin) * block.width, std::min(piece_rows, keys.end - key) * block.width);
}

// The number of batch rows processed together: enough work for the threads, within a few megabytes.
int64_t batch_slots(const MultiTokenCall& call);

}  // namespace qkv::internal
