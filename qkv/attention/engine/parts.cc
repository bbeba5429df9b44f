#include "qkv/attention/engine/parts.h"

#include <algorithm>
#include <vector>

#include "qkv/attention/engine/pack.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {
namespace {

// The range within the tile that any query sees.
KeyRange visible_of(const AttentionCall& call, const Tile& tile) {
  const KeyRange all = {tile.key, tile.key + tile.keys}, none = {all.end, all.begin};
  const Visibility visibility = call.mask ? call.mask->classify(tile) : Visibility::visible;
  if (visibility != Visibility::partial) return visibility == Visibility::visible ? all : none;
  uint64_t visible[max_block_keys];
  call.mask->fill(tile, visible);
  const uint64_t queries = first_queries(tile.queries);
  KeyRange range = none;
  for (int64_t j = 0; j < tile.keys; ++j)
    if (visible[j] & queries) range = {std::min(range.begin, tile.key + j), tile.key + j + 1};
  return range;
}

// Extends `found` by the keys that the block sees. Only tiles that may extend it are looked at.
void extend(const AttentionCall& call, const QueryBlock& block, KeyRange& found) {
  const KeyRange clip = all_keys(call), range = call.mask ? call.mask->key_range(block) : clip;
  const int64_t begin = std::max(clip.begin, range.begin), end = std::min(clip.end, range.end);
  for (int64_t key = begin; key < std::min(end, found.begin); key += max_block_keys) {
    const KeyRange keys = visible_of(call, {block, key, std::min(max_block_keys, end - key)});
    if (keys.begin >= keys.end) continue;
    found = {std::min(found.begin, keys.begin), std::max(found.end, keys.end)};
    break;
  }
  for (int64_t key = end; key > std::max(begin, found.end);) {
    const int64_t keys = std::min(max_block_keys, key - begin);
    key -= keys;
    const KeyRange seen = visible_of(call, {block, key, keys});
    if (seen.begin >= seen.end) continue;
    found = {std::min(found.begin, seen.begin), std::max(found.end, seen.end)};
    break;
  }
}

}  // namespace

SoftmaxState::SoftmaxState(const AttentionCall& call)
    : out(Tensor::zeros({call.shape.B, call.part.heads, call.part.queries, call.shape.E})),
      maximum(Tensor::full({call.shape.B, call.part.heads, call.part.queries}, masked_score)),
      sum(Tensor::zeros({call.shape.B, call.part.heads, call.part.queries})) {}

void SoftmaxState::load(const QueryBlock& rows, const kernel::RunningSoftmax& running, float* out_block) const {
  const int64_t at = offset_in(maximum, rows);
  std::copy_n(maximum.data<float>() + at, rows.queries, running.maximum);
  std::copy_n(sum.data<float>() + at, rows.queries, running.sum);
  kernel::kernels().attention.transpose_in(row_pointer(out, rows.batch, rows.head, rows.query), out.stride(2),
                                           rows.queries, out.dim(3), out_block, rows.width, rows.width);
}

void SoftmaxState::store(const QueryBlock& rows, const kernel::RunningSoftmax& running, const float* out_block) {
  const int64_t at = offset_in(maximum, rows);
  std::copy_n(running.maximum, rows.queries, maximum.data<float>() + at);
  std::copy_n(running.sum, rows.queries, sum.data<float>() + at);
  float ones[max_block_queries];
  std::fill_n(ones, rows.width, 1.0f);
  write_block(out_block, rows, ones, out);
}

ForwardResult finish(const AttentionCall& call, const SoftmaxState& state) {
  ForwardResult result = empty_result(call);
  const int64_t H = call.part.heads, blocks = count_query_blocks(call), E = call.shape.E;
  parallel_for(call.shape.B * H * blocks, [&](int64_t task) {
    const int64_t bh = task / blocks;
    const QueryBlock block = query_block(call, bh / H, call.part.head + bh % H, task % blocks),
                     rows = rows_of(call, block);
    Scratch scratch;
    float* out = scratch.floats(E * block.width);
    const kernel::RunningSoftmax running = {scratch.floats(block.width), scratch.floats(block.width),
                                            scratch.floats(block.width)};
    reset(running, block.width);
    state.load(rows, running, out);
    call.normalize->finish(block, running);
    write_block(out, rows, running.rescale, result.out);
    write_statistics(result.statistics, rows, running);
  });
  return result;
}

KeyRange visible_keys(const AttentionCall& call) {
  const int64_t H = call.part.heads, heads = call.shape.B * H;
  const KeyRange none = {call.part.key + call.part.keys, call.part.key};
  std::vector<KeyRange> of_head(static_cast<size_t>(heads), none);
  parallel_for(heads, [&](int64_t bh) {
    for (int64_t index = 0; index < count_query_blocks(call); ++index)
      extend(call, query_block(call, bh / H, call.part.head + bh % H, index), of_head[static_cast<size_t>(bh)]);
  });
  KeyRange all = none;
  for (const KeyRange& head : of_head) all = {std::min(all.begin, head.begin), std::max(all.end, head.end)};
  return all;
}

}  // namespace qkv::internal
