#include "qkv/attention/multi_token/row_block.h"

#include "qkv/base/integers.h"

namespace qkv::internal {
namespace {

int64_t block_outputs(const MultiTokenCall& call) { return max_block_queries - call.halo(); }

// Queries [query, query + queries) of the call, as the mask sees them.
QueryBlock queries_in_whole(const MultiTokenCall& call, const RowBlock& block, int64_t head, int64_t query,
                            int64_t queries) {
  return {&call.part.whole, block.batch, head, call.part.query + query, queries, round_to_lanes(queries)};
}

// The range of keys that any query sees in any head.
KeyRange visible_keys(const MultiTokenCall& call, const RowBlock& block) {
  KeyRange all = {call.shape.S, 0};
  const int64_t query = std::max<int64_t>(0, block.first), queries = block.first + block.end_lane() - query;
  for (int64_t h = 0; h < call.shape.H; ++h) {
    const KeyRange keys = call.mask->key_range(queries_in_whole(call, block, h, query, queries));
    const int64_t begin = std::max<int64_t>(0, keys.begin - call.part.key),
                  end = std::min(call.shape.S, keys.end - call.part.key);
    if (begin >= end) continue;
    all = {std::min(all.begin, begin), std::max(all.end, end)};
  }
  return all.begin < all.end ? all : KeyRange{0, 0};
}

}  // namespace

int64_t count_row_blocks(const MultiTokenCall& call) { return ceil_div(call.outputs(), block_outputs(call)); }

int64_t widest_row_block(const MultiTokenCall& call) {
  return round_to_lanes(std::min(call.outputs(), block_outputs(call)) + call.halo());
}

namespace {

RowBlock row_block(const MultiTokenCall& call, int64_t batch, int64_t index) {
  const int64_t query = call.history + index * block_outputs(call), halo = call.halo();
  RowBlock block;
  block.batch = batch;
  block.first = query - halo;
  block.weight_lane = call.pre_conv.halo();
  block.out_lane = halo;
  block.outputs = std::min(block_outputs(call), call.shape.T - query);
  block.width = round_to_lanes(block.end_lane());
  block.keys = call.mask ? visible_keys(call, block) : KeyRange{0, call.shape.S};
  return block;
}

}  // namespace

RowBlocks row_blocks(const MultiTokenCall& call, int64_t batch, int64_t count, int64_t index) {
  RowBlocks blocks;
  for (int64_t slot = 0; slot < count; ++slot) blocks.push_back(row_block(call, batch + slot, index));
  return blocks;
}

int64_t border_rows(const MultiTokenCall& call) { return std::max(call.pre_conv.keys, call.post_conv.keys); }

HeadRows::HeadRows(const MultiTokenCall& call, int64_t slots) : heads_(call.shape.H), border_(border_rows(call)) {
  constexpr int64_t page = 1024, shift = 80;  // floats; heads a multiple of a page apart would share cache sets
  const int64_t size = (call.shape.S + 2 * border_) * widest_row_block(call);
  stride_ = rounded_up(size, page) + shift;
  memory_ = Tensor::empty({slots * heads_ * stride_});
}

void clear_border(const MultiTokenCall& call, const RowBlock& block, float* rows) {
  const int64_t border = border_rows(call) * block.width;
  std::fill_n(rows - border, border, 0.0f);
  std::fill_n(rows + block.count() * block.width, border, 0.0f);
}

float* scratch_rows(const MultiTokenCall& call, const RowBlock& block, Scratch& scratch) {
  const int64_t border = border_rows(call);
  return scratch.floats((block.count() + 2 * border) * block.width) + border * block.width;
}

MaskBits::MaskBits(const MultiTokenCall& call, int64_t slots)
    : heads_(call.shape.H), keys_(call.shape.S), bits_(static_cast<size_t>(slots * heads_ * 3 * keys_ + 1)) {}

void MaskBits::fill(const MultiTokenCall& call, int64_t slot, const RowBlock& block, int64_t head) {
  uint64_t *of_scores = &bits_[at(slot, head, 0)], *of_weights = &bits_[at(slot, head, 1)],
           *of_outputs = &bits_[at(slot, head, 2)];
  const int64_t query = std::max<int64_t>(0, block.first), queries = block.first + block.end_lane() - query,
                shift = query - block.first;
  const QueryBlock real = queries_in_whole(call, block, head, query, queries);
  const uint64_t all_queries = first_queries(queries);
  for (int64_t c = block.first_chunk(); c < block.end_chunk(); ++c) {
    const KeyRange keys = block.chunk(c);
    const Tile tile{real, call.part.key + keys.begin, keys.end - keys.begin};
    uint64_t* bits = of_scores + (keys.begin - block.keys.begin);
    const Visibility visibility = call.mask ? call.mask->classify(tile) : Visibility::visible;
    if (visibility == Visibility::partial)
      call.mask->fill(tile, bits);
    else
      std::fill_n(bits, tile.keys, visibility == Visibility::visible ? all_queries : 0);
    for (int64_t j = 0; j < tile.keys; ++j) bits[j] = (bits[j] & all_queries) << shift;
  }
  const uint64_t complete_weights = ~first_queries(block.weight_lane),
                 complete_outputs = ~first_queries(block.out_lane);
  for (int64_t j = 0; j < block.count(); ++j) {
    of_weights[j] = of_scores[j] & complete_weights;
    of_outputs[j] = of_scores[j] & complete_outputs;
  }
}

}  // namespace qkv::internal
