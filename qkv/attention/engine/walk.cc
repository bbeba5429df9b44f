#include "qkv/attention/engine/walk.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"

namespace qkv {

int64_t lanes() { return kernel::kernels().lanes; }
int64_t round_to_lanes(int64_t n) { return (n + lanes() - 1) / lanes() * lanes(); }
int64_t block_queries() { return max_block_queries; }
int64_t count_blocks(int64_t queries) { return (queries + block_queries() - 1) / block_queries(); }

QueryBlock block_of(const AttentionShape& shape, int64_t batch, int64_t head, int64_t index) {
  const int64_t query = index * block_queries();
  const int64_t queries = std::min(block_queries(), shape.T - query);
  return {&shape, batch, head, query, queries, round_to_lanes(queries)};
}

ScoreOperands pack_queries(const AttentionCall& call, const QueryBlock& block, bool with_rows, Scratch& scratch) {
  const int64_t D = call.q.dim(3), row_width = round_to_lanes(D);
  const float* q = rows(call.q, block.batch, block.head, block.query);
  const float scale = call.score->query_scale(D);
  float* transposed = scratch.floats(D * block.width);
  kernel::kernels().attention.transpose_in(q, call.q.stride(2), block.queries, D, scale, transposed, block.width);
  float* packed = nullptr;
  if (with_rows) {
    packed = scratch.floats(block.queries * row_width);
    for (int64_t i = 0; i < block.queries; ++i) {
      const float* from = q + i * call.q.stride(2);
      float* to = packed + i * row_width;
      for (int64_t d = 0; d < D; ++d) to[d] = scale * from[d];
      std::fill(to + D, to + row_width, 0.0f);
    }
  }
  return {
      .q_transposed = transposed, .q_rows = packed, .row_width = row_width, .k = nullptr, .k_stride = 0, .D = D};
}

ScoreOperands at_tile(ScoreOperands operands, const AttentionCall& call, const Tile& tile) {
  operands.k = rows(call.k, tile.batch, tile.kv_head(), tile.key);
  operands.k_stride = call.k.stride(2);
  return operands;
}

void fill_scores(const AttentionCall& call, const Tile& tile, Visibility visibility, const ScoreOperands& operands,
                 float* s, float* const* modified) {
  call.score->forward(tile, operands, s);
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
