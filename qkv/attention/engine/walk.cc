#include "qkv/attention/engine/walk.h"

#include <cmath>
#include <cstring>

#include "qkv/base/scratch.h"
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

QueryBlock block_of(const AttentionCall& call, int64_t batch, int64_t head, int64_t index) {
  const int64_t block = block_queries(call), query = index * block;
  const int64_t queries = std::min(block, call.shape.T - query);
  return {&call.shape, batch, head, query, queries, round_to_lanes(queries)};
}

void modify_and_hide(const AttentionCall& call, const Tile& tile, Visibility visibility, float* s,
                     float* const* modified) {
  for (size_t m = 0; m < call.modify.size(); ++m) {
    call.modify[m]->forward(tile, s);
    if (modified && modified[m])
      std::memcpy(modified[m], s, static_cast<size_t>(tile.keys * tile.width) * sizeof(float));
  }
  if (visibility == Visibility::some) {
    uint64_t visible[max_block_keys];
    call.mask->fill(tile, visible);
    kernel::kernels().attention.hide(s, tile.keys, tile.width, visible);
  }
}

BlockStatistics load_statistics(const SoftmaxStatistics& statistics, const QueryBlock& block, Scratch& scratch) {
  const int64_t at = (block.batch * block.whole->H + block.head) * block.whole->T + block.query;
  const BlockStatistics out = {scratch.floats(block.width), scratch.floats(block.width)};
  std::fill_n(out.maximum, block.width, 0.0f);
  std::fill_n(out.inverse_sum, block.width, 0.0f);
  const float* maximum = statistics.maximum.data<float>() + at;
  for (int64_t i = 0; i < block.queries; ++i) out.maximum[i] = std::isinf(maximum[i]) ? 0.0f : maximum[i];
  std::copy_n(statistics.inverse_sum.data<float>() + at, block.queries, out.inverse_sum);
  return out;
}

}  // namespace qkv
