#include "qkv/attention/engine/engine.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv {

Tensor attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics) {
  const AttentionShape& shape = call.shape;
  Tensor weights = Tensor::zeros({shape.B, shape.H, shape.T, shape.S});
  const int64_t blocks = count_blocks(shape.T);
  parallel_for(shape.B * shape.H * blocks, [&](int64_t task) {
    const int64_t bh = task / blocks;
    const QueryBlock block = block_of(shape, bh / shape.H, bh % shape.H, task % blocks);
    Scratch scratch;
    const ScoreOperands queries = pack_queries(call, block, false, scratch);
    const BlockStatistics ended = load_statistics(statistics, block, scratch);
    float* s = scratch.floats(max_block_keys * block.width);
    for_each_tile(call, block, [&](const Tile& tile, Visibility visibility) {
      fill_scores(call, tile, visibility, at_tile(queries, call, tile), s);
      kernel::kernels().attention.weights(s, tile.keys, tile.width, ended.maximum, ended.inverse_sum);
      for (const ReweigherPtr& reweigher : call.reweigh) reweigher->multiply(tile, s);
      for (int64_t i = 0; i < tile.queries; ++i) {
        float* row = rows(weights, tile.batch, tile.head, tile.query + i) + tile.key;
        for (int64_t j = 0; j < tile.keys; ++j) row[j] = s[j * tile.width + i];
      }
    });
  });
  return weights;
}

}  // namespace qkv
