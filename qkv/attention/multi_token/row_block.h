// A row block of multi-token attention: query rows of one batch row, all heads, all keys that any of them sees.
//
//     lanes     0 ............ weight_lane ........... out_lane ............ end_lane .. width
//               | halo of pre_conv | halo of post_conv | rows of the result  | padding
//     complete:                      weights             weights and outputs
//
// Lane 0 is query `first`, which is negative at the beginning: rows outside the matrix are zero. Blocks cut the
// queries, and chunks the keys, at fixed positions, so sums do not depend on the rest of the call.
#pragma once

#include <algorithm>
#include <iterator>
#include <vector>

#include "qkv/attention/engine/tiles.h"
#include "qkv/attention/multi_token/call.h"
#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {

struct RowBlock {
  int64_t batch = 0;
  int64_t first = 0;                      // the query of lane 0
  int64_t weight_lane = 0, out_lane = 0;  // the first lanes with complete weights, and outputs
  int64_t outputs = 0, width = 0;
  KeyRange keys;  // that any query sees in any head

  int64_t count() const { return keys.end - keys.begin; }
  int64_t out_row(int64_t history) const { return first + out_lane - history; }  // the first row of the result
  int64_t first_real_lane() const { return std::max<int64_t>(0, -first); }
  int64_t end_lane() const { return out_lane + outputs; }
  int64_t first_chunk() const { return keys.begin / max_block_keys; }
  int64_t end_chunk() const { return ceil_div(keys.end, max_block_keys); }
  KeyRange chunk(int64_t index) const {
    return {std::max(keys.begin, index * max_block_keys), std::min(keys.end, (index + 1) * max_block_keys)};
  }
};

int64_t count_row_blocks(const MultiTokenCall& call);
// The blocks with this index of batch rows [batch, batch + count), one per slot.
using RowBlocks = std::vector<RowBlock>;
RowBlocks row_blocks(const MultiTokenCall& call, int64_t batch, int64_t count, int64_t index);
int64_t widest_row_block(const MultiTokenCall& call);

// (keys x width) floats for each head, between borders of zeros, spaced so that heads do not share cache sets.
class HeadRows {
 public:
  HeadRows() = default;
  HeadRows(const MultiTokenCall& call, int64_t slots);

  // Row 0 is the first key of the block.
  float* of(int64_t slot, const RowBlock& block, int64_t head) {
    return memory_.data<float>() + (slot * heads_ + head) * stride_ + border_ * block.width;
  }
  int64_t head_stride() const { return stride_; }

 private:
  Tensor memory_;
  int64_t heads_ = 0, stride_ = 0, border_ = 0;
};

// The number of rows of zeros before and after the rows of a head, which a convolution may read.
int64_t border_rows(const MultiTokenCall& call);
void clear_border(const MultiTokenCall& call, const RowBlock& block, float* rows);
// Rows with borders for one head, in scratch memory.
float* scratch_rows(const MultiTokenCall& call, const RowBlock& block, Scratch& scratch);

// Mask bits of a block: for each head one uint64_t per key, bit i for lane i. weights() and outputs() also mask the
// lanes whose weights or outputs are not complete.
class MaskBits {
 public:
  MaskBits(const MultiTokenCall& call, int64_t slots);
  void fill(const MultiTokenCall& call, int64_t slot, const RowBlock& block, int64_t head);

  const uint64_t* scores(int64_t slot, int64_t head) const { return &bits_[at(slot, head, 0)]; }
  const uint64_t* weights(int64_t slot, int64_t head) const { return &bits_[at(slot, head, 1)]; }
  const uint64_t* outputs(int64_t slot, int64_t head) const { return &bits_[at(slot, head, 2)]; }

 private:
  size_t at(int64_t slot, int64_t head, int64_t kind) const {
    return static_cast<size_t>(((slot * heads_ + head) * 3 + kind) * keys_);
  }

  int64_t heads_, keys_;
  std::vector<uint64_t> bits_;
};

// Calls step(slot, head), and step(slot, chunk), for all of them in parallel.
template <class Step>
void for_each_head_of(const RowBlocks& blocks, int64_t heads, Step step) {
  parallel_for(std::ssize(blocks) * heads, [&](int64_t item) {
    const kernel::FlushDenormals flush;
    step(item / heads, item % heads);
  });
}
template <class Step>
void for_each_chunk_of(const RowBlocks& blocks, Step step) {
  int64_t chunks = 0;  // of the block with the most chunks
  for (const RowBlock& block : blocks) chunks = std::max(chunks, block.end_chunk() - block.first_chunk());
  parallel_for(std::ssize(blocks) * chunks, [&](int64_t item) {
    const kernel::FlushDenormals flush;
    const int64_t slot = item / chunks;
    const RowBlock& block = blocks[static_cast<size_t>(slot)];
    const int64_t chunk = block.first_chunk() + item % chunks;
    if (chunk < block.end_chunk()) step(slot, chunk);
  });
}

}  // namespace qkv::internal
