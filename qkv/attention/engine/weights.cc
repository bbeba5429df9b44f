#include "qkv/attention/engine/engine.h"
#include "qkv/attention/engine/pack.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"

namespace qkv::internal {
namespace {

// Calls visit(tile, w) with the weights (keys x width) of every tile of a block that is not masked.
template <class Visit>
void for_each_weights(const AttentionCall& call, const SoftmaxStatistics& statistics, const QueryBlock& block,
                      Visit visit) {
  Scratch scratch;
  const TileScope scope(call);
  KeyPacker keys(call, call.k, {block.batch, block.kv_head()}, false, scratch);
  const bool single = call.algorithm == Algorithm::single_query;
  const BlockOperand queries = single ? BlockOperand{} : pack_block(call.q, block, false, scratch);
  const BlockStatistics final_values = load_statistics(statistics, block, scratch);
  float* w = scratch.floats(max_block_keys * block.width);
  for_each_tile(call, block, all_keys(call), [&](const Tile& tile, const uint64_t* visible) {
    if (single)
      single_query_scores(call, tile, w);
    else
      call.score->forward(tile, {&products(call), queries.of(tile), keys.at(tile)}, w);
    modify_and_mask(call, tile, visible, w);
    call.normalize->weights(tile, w, final_values.maximum + tile.lane, final_values.inverse_sum + tile.lane,
                            nullptr);
    for (const ReweigherPtr& reweigher : call.reweigh) reweigher->multiply(tile, w);
    visit(tile, w);
  });
}

}  // namespace

Tensor attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics) {
  const AttentionShape& shape = call.shape;
  Tensor weights = Tensor::zeros({shape.B, shape.H, shape.T, shape.S});
  const int64_t blocks = count_query_blocks(call);
  parallel_for(shape.B * shape.H * blocks, [&](int64_t task) {
    const int64_t bh = task / blocks;
    const QueryBlock block = query_block(call, bh / shape.H, bh % shape.H, task % blocks);
    for_each_weights(call, statistics, block, [&](const Tile& tile, const float* w) {
      for (int64_t i = 0; i < tile.queries; ++i) {
        float* row = row_pointer(weights, tile.batch, tile.head, tile.query + i) + tile.key;
        for (int64_t j = 0; j < tile.keys; ++j) row[j] = w[j * tile.width + i];
      }
    });
  });
  return weights;
}

Tensor mean_attention_weights(const AttentionCall& call, const SoftmaxStatistics& statistics) {
  const AttentionShape& shape = call.shape;
  Tensor mean = Tensor::zeros({shape.B, shape.T, shape.S});
  const int64_t blocks = count_query_blocks(call);
  const float share = 1.0f / static_cast<float>(shape.H);
  parallel_for(shape.B * blocks, [&](int64_t task) {
    for (int64_t head = 0; head < shape.H; ++head) {
      const QueryBlock block = query_block(call, task / blocks, head, task % blocks);
      for_each_weights(call, statistics, block, [&](const Tile& tile, const float* w) {
        for (int64_t i = 0; i < tile.queries; ++i) {
          float* row = mean.data<float>() + (tile.batch * shape.T + tile.query + i) * shape.S + tile.key;
          for (int64_t j = 0; j < tile.keys; ++j) row[j] += share * w[j * tile.width + i];
        }
      });
    }
  });
  return mean;
}

}  // namespace qkv::internal
