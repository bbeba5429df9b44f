// The tiled forward: FlashAttention with an online softmax, for f32 and bf16.

#include <algorithm>
#include <cmath>

#include "qkv/attention/engine/engine.h"
#include "qkv/attention/engine/pack.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/layout.h"

namespace qkv::internal {
namespace {

// Blocks of one head, one after another, so that its values are packed once.
class HeadTask {
 public:
  HeadTask(const AttentionCall& call, int64_t batch, int64_t head, ForwardResult& result)
      : call_(call),
        batch_(batch),
        head_(head),
        result_(result),
        deferred_scale_(deferred_scale(call)),
        scope_(call),
        keys_(call.k, batch, kv_head(), false, scratch_),
        values_(call.v, batch, kv_head(), true, scratch_) {
    if (!is_short(call)) return;
    const int64_t keys = std::min(call.shape.S, max_block_keys);
    prefetch(call.k, {batch, kv_head(), 0}, keys, Access::read);
    prefetch(call.v, {batch, kv_head(), 0}, keys, Access::read);
  }

  void run(int64_t index) {
    const QueryBlock block = query_block(call_, batch_, head_, index);
    const int64_t width = block.width;
    Scratch scratch;
    const BlockOperand queries = pack_block(call_.q, block, false, scratch);
    const WeightPacker packer(call_, block, {.columns = true}, scratch);
    float* s = scratch.floats(max_block_keys * width);
    const kernel::RunningSoftmax running = {scratch.floats(width), scratch.floats(width), scratch.floats(width)};
    reset(running, width);
    const auto weights_of = [&](const Tile& tile, const uint64_t* visible) {
      compute_scores(call_, tile, {&products(call_), queries.of(tile), keys_.at(tile)}, s);
      modify_and_mask(call_, tile, visible, s);
      return weigh(tile, s, of_tile(running, tile), packer);
    };
    if (call_.algorithm == Algorithm::one_f32_tile)
      run_one_tile(block, running, weights_of);
    else
      run_tiles(block, running, weights_of, scratch.floats(call_.shape.E * width));
    write_statistics(result_.statistics, block, running);
  }

 private:
  static kernel::RunningSoftmax of_tile(const kernel::RunningSoftmax& running, const Tile& tile) {
    return {running.maximum + tile.lane, running.sum + tile.lane, running.rescale + tile.lane};
  }

  // O^T = O^T * rescale + V^T P for every tile.
  template <class WeightsOf>
  void run_tiles(const QueryBlock& block, const kernel::RunningSoftmax& running, WeightsOf weights_of, float* out) {
    const int64_t E = call_.shape.E, width = block.width;
    bool initialized = false;  // out
    for_each_tile(call_, block, all_keys(call_), [&](const Tile& tile, const uint64_t* visible) {
      const WeightOperand w = weights_of(tile, visible);
      if (!initialized && is_short(call_)) prefetch(result_.out, row_index(block), block.queries, Access::write);
      const auto product = columns_product(tile, values_.at(tile), w, out + tile.lane, width);
      if (!initialized && tile.width == width) {
        products(call_).overwrite(product);
      } else {
        if (!initialized) std::fill_n(out, E * width, 0.0f);
        products(call_).rescale(product, of_tile(running, tile).rescale);
      }
      initialized = true;
    });
    if (!initialized) std::fill_n(out, E * width, 0.0f);
    call_.normalize->finish(block, running);
    write_block(out, block, running.rescale, result_.out);
  }

  // With all keys in one tile nothing is rescaled, and O = P V is written in its memory order, without a transpose.
  // The sums run over the keys in the same order as in run_tiles(): the bits are the same.
  template <class WeightsOf>
  void run_one_tile(const QueryBlock& block, const kernel::RunningSoftmax& running, WeightsOf weights_of) {
    const int64_t E = call_.shape.E, stride = result_.out.stride(2);
    float* out = row_pointer(result_.out, batch_, head_, block.query);
    if (is_short(call_)) prefetch(result_.out, row_index(block), block.queries, Access::write);
    if (call_.mask)  // queries without visible keys
      for (int64_t i = 0; i < block.queries; ++i) std::fill_n(out + i * stride, E, 0.0f);
    for_each_tile(call_, block, all_keys(call_), [&](const Tile& tile, const uint64_t* visible) {
      const WeightOperand w = weights_of(tile, visible);
      products(call_).overwrite(rows_product(tile, values_.at(tile), w, out + tile.lane * stride, stride));
    });
    call_.normalize->finish(block, running);
    for (int64_t i = 0; i < block.queries; ++i)
      kernel::kernels().rows.scale(out + i * stride, running.rescale[i], E, out + i * stride);
  }

  // Turns scores into packed weights that are not yet divided by their sum.
  WeightOperand weigh(const Tile& tile, float* s, const kernel::RunningSoftmax& running,
                      const WeightPacker& packer) const {
    if (call_.is_bf16() && call_.reweigh.empty()) {
      call_.normalize->step_to_bf16(tile, s, deferred_scale_, running, packer.columns());
      return packer.packed(tile, s);
    }
    call_.normalize->step(tile, s, running);
    for (const ReweigherPtr& reweigher : call_.reweigh) reweigher->multiply(tile, s);
    return packer.pack(tile, s);
  }

  RowIndex row_index(const QueryBlock& block) const { return {batch_, head_, block.query}; }
  int64_t kv_head() const { return head_ * call_.shape.G / call_.shape.H; }

  const AttentionCall& call_;
  int64_t batch_, head_;
  ForwardResult& result_;
  float deferred_scale_;
  TileScope scope_;
  Scratch scratch_;
  KeyPacker keys_, values_;
};

}  // namespace

void write_statistics(SoftmaxStatistics& statistics, const QueryBlock& block,
                      const kernel::RunningSoftmax& running) {
  if (!statistics.maximum.defined()) return;
  const int64_t at = (block.batch * block.shape->H + block.head) * block.shape->T + block.query;
  float* inverse_sum = statistics.inverse_sum.data<float>() + at;
  for (int64_t i = 0; i < block.queries; ++i) inverse_sum[i] = running.sum[i] > 0 ? 1.0f / running.sum[i] : 0.0f;
  std::copy_n(running.maximum, block.queries, statistics.maximum.data<float>() + at);
}

ForwardResult forward_pass(const AttentionCall& call) {
  const AttentionShape& shape = call.shape;
  ForwardResult result = {.out = empty_in_order_of(call.q, {shape.B, shape.H, shape.T, shape.E}, call.q.dtype()),
                          .statistics = {}};
  if (call.keeps_statistics)
    result.statistics = {Tensor::empty({shape.B, shape.H, shape.T}), Tensor::empty({shape.B, shape.H, shape.T})};
  if (call.algorithm == Algorithm::single_query) {
    forward_single_queries(call, result);
    return result;
  }
  // bf16 values are packed once per task, so tasks of several blocks pack less often.
  const int64_t heads = shape.B * shape.H, adjacent_heads = heads_per_task(call, heads);
  const int64_t blocks = count_query_blocks(call), task_blocks = call.is_bf16() || adjacent_heads > 1 ? 8 : 1;
  const int64_t tasks = (blocks + task_blocks - 1) / task_blocks;  // of a head
  if (tasks == 0) return result;                                   // no queries
  parallel_ranges(heads * tasks, adjacent_heads * tasks, [&](int64_t begin, int64_t last) {
    for (int64_t item = begin; item < last; ++item) {
      const int64_t bh = item / tasks, end = blocks - item % tasks * task_blocks;
      HeadTask task(call, bh / shape.H, bh % shape.H, result);
      // The last blocks first: under a causal mask they are the longest.
      for (int64_t index = end - 1; index >= std::max<int64_t>(0, end - task_blocks); --index) task.run(index);
    }
  });
  return result;
}

Tensor log_sum_exp(const SoftmaxStatistics& statistics) {
  Tensor lse = Tensor::empty(statistics.maximum.shape());
  const auto out = lse.span<float>();
  const auto maximum = statistics.maximum.span<float>(), inverse_sum = statistics.inverse_sum.span<float>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = inverse_sum[i] > 0 ? maximum[i] - std::log(inverse_sum[i]) : masked_score;
  return lse;
}

}  // namespace qkv::internal
