// The tiled forward: FlashAttention with an online softmax, for f32 and bf16.

#include <algorithm>
#include <cmath>

#include "qkv/attention/engine/engine.h"
#include "qkv/attention/engine/pack.h"
#include "qkv/attention/engine/parts.h"
#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/layout.h"

namespace qkv::internal {
namespace {

// Blocks of one head, one after another, so that its values are packed once.
class HeadTask {
 public:
  HeadTask(const AttentionCall& call, int64_t batch, int64_t head)
      : call_(call),
        batch_(batch),
        head_(head),
        deferred_scale_(deferred_scale(call)),
        scope_(call),
        keys_(call, call.k, {batch, kv_head()}, false, scratch_),
        values_(call, call.v, {batch, kv_head()}, true, scratch_) {
    if (!is_short(call)) return;
    const int64_t keys = std::min(call.part.keys, max_block_keys), row_head = kv_head() - call.kv_head();
    prefetch(call.k, {batch, row_head, 0}, keys, Access::read);
    prefetch(call.v, {batch, row_head, 0}, keys, Access::read);
  }

  void run(int64_t index, ForwardResult& result) {
    const QueryBlock block = query_block(call_, batch_, head_, index);
    Scratch scratch;
    const kernel::RunningSoftmax running = running_softmax(block, scratch);
    with_weights(block, running, [&](auto weights_of) {
      if (call_.algorithm == Algorithm::one_f32_tile)
        run_one_tile(block, running, weights_of, result.out);
      else
        run_tiles(block, running, weights_of, result.out);
    });
    write_statistics(result.statistics, rows_of(call_, block), running);
  }

  // Resumes from the state, and leaves it for the next keys.
  void add_keys(int64_t index, SoftmaxState& state) {
    const QueryBlock block = query_block(call_, batch_, head_, index), rows = rows_of(call_, block);
    Scratch scratch;
    const kernel::RunningSoftmax running = running_softmax(block, scratch);
    float* out = scratch.floats(call_.shape.E * block.width);
    bool loaded = false;
    with_weights(block, running, [&](auto weights_of) {
      for_each_tile(call_, block, all_keys(call_), [&](const Tile& tile, const uint64_t* visible) {
        if (!loaded) state.load(rows, running, out);
        loaded = true;
        const WeightOperand w = weights_of(tile, visible);
        products(call_).rescale(columns_product(tile, values_.at(tile), w, out + tile.lane, block.width),
                                of_tile(running, tile).rescale);
      });
    });
    if (loaded) state.store(rows, running, out);
  }

 private:
  static kernel::RunningSoftmax running_softmax(const QueryBlock& block, Scratch& scratch) {
    const int64_t width = block.width;
    const kernel::RunningSoftmax running = {scratch.floats(width), scratch.floats(width), scratch.floats(width)};
    reset(running, width);
    return running;
  }

  // Calls body(weights_of), where weights_of(tile, visible) are the weights of a tile of the block, not yet divided.
  template <class Body>
  void with_weights(const QueryBlock& block, const kernel::RunningSoftmax& running, Body body) {
    Scratch scratch;
    const BlockOperand queries = pack_block(call_.q, rows_of(call_, block), false, scratch);
    const WeightPacker packer(call_, block, {.columns = true}, scratch);
    float* s = scratch.floats(max_block_keys * block.width);
    body([&](const Tile& tile, const uint64_t* visible) {
      compute_scores(call_, tile, {&products(call_), queries.of(tile), keys_.at(tile)}, s);
      modify_and_mask(call_, tile, visible, s);
      return weigh(tile, s, of_tile(running, tile), packer);
    });
  }

  static kernel::RunningSoftmax of_tile(const kernel::RunningSoftmax& running, const Tile& tile) {
    return {running.maximum + tile.lane, running.sum + tile.lane, running.rescale + tile.lane};
  }

  // O^T = O^T * rescale + V^T P for every tile.
  template <class WeightsOf>
  void run_tiles(const QueryBlock& block, const kernel::RunningSoftmax& running, WeightsOf weights_of,
                 Tensor& result) {
    const int64_t E = call_.shape.E, width = block.width;
    const QueryBlock rows = rows_of(call_, block);
    Scratch scratch;
    float* out = scratch.floats(E * width);
    bool initialized = false;  // out
    for_each_tile(call_, block, all_keys(call_), [&](const Tile& tile, const uint64_t* visible) {
      const WeightOperand w = weights_of(tile, visible);
      if (!initialized && is_short(call_))
        prefetch(result, {batch_, rows.head, rows.query}, block.queries, Access::write);
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
    write_block(out, rows, running.rescale, result);
  }

  // With all keys in one tile nothing is rescaled, and O = P V is written in its memory order, without a transpose.
  // The sums run over the keys in the same order as in run_tiles(): the bits are the same.
  template <class WeightsOf>
  void run_one_tile(const QueryBlock& block, const kernel::RunningSoftmax& running, WeightsOf weights_of,
                    Tensor& result) {
    const QueryBlock rows = rows_of(call_, block);
    const int64_t E = call_.shape.E, stride = result.stride(2);
    float* out = row_pointer(result, batch_, rows.head, rows.query);
    if (is_short(call_)) prefetch(result, {batch_, rows.head, rows.query}, block.queries, Access::write);
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

  int64_t kv_head() const { return head_ * call_.shape.G / call_.shape.H; }

  const AttentionCall& call_;
  int64_t batch_, head_;
  float deferred_scale_;
  TileScope scope_;
  Scratch scratch_;
  KeyPacker keys_, values_;
};

}  // namespace

void write_statistics(SoftmaxStatistics& statistics, const QueryBlock& rows,
                      const kernel::RunningSoftmax& running) {
  if (!statistics.maximum.defined()) return;
  const int64_t at = offset_in(statistics.maximum, rows);
  float* inverse_sum = statistics.inverse_sum.data<float>() + at;
  for (int64_t i = 0; i < rows.queries; ++i) inverse_sum[i] = running.sum[i] > 0 ? 1.0f / running.sum[i] : 0.0f;
  std::copy_n(running.maximum, rows.queries, statistics.maximum.data<float>() + at);
}

namespace {

// Calls run(task, index) for every block of queries of every head.
template <class Run>
void for_each_block(const AttentionCall& call, Run run) {
  // bf16 values are packed once per task, so tasks of several blocks pack less often.
  const int64_t H = call.part.heads, heads = call.shape.B * H, adjacent_heads = heads_per_task(call, heads);
  const int64_t blocks = count_query_blocks(call), task_blocks = call.is_bf16() || adjacent_heads > 1 ? 8 : 1;
  const int64_t tasks = ceil_div(blocks, task_blocks);  // of a head
  if (tasks == 0) return;                               // no queries
  parallel_ranges(heads * tasks, adjacent_heads * tasks, [&](int64_t begin, int64_t last) {
    for (int64_t item = begin; item < last; ++item) {
      const int64_t bh = item / tasks, end = blocks - item % tasks * task_blocks;
      HeadTask task(call, bh / H, call.part.head + bh % H);
      // The last blocks first: under a causal mask they are the longest.
      for (int64_t index = end - 1; index >= std::max<int64_t>(0, end - task_blocks); --index) run(task, index);
    }
  });
}

}  // namespace

ForwardResult forward_pass(const AttentionCall& call) {
  ForwardResult result = empty_result(call);
  if (call.algorithm == Algorithm::single_query)
    forward_single_queries(call, result);
  else
    for_each_block(call, [&](HeadTask& task, int64_t index) { task.run(index, result); });
  return result;
}

void add_keys(const AttentionCall& call, SoftmaxState& state) {
  for_each_block(call, [&](HeadTask& task, int64_t index) { task.add_keys(index, state); });
}

ForwardResult empty_result(const AttentionCall& call) {
  const int64_t B = call.shape.B, H = call.part.heads, T = call.part.queries;
  ForwardResult result = {.out = empty_in_order_of(call.q, {B, H, T, call.shape.E}, call.q.dtype()),
                          .statistics = {}};
  if (call.keeps_statistics) result.statistics = {Tensor::empty({B, H, T}), Tensor::empty({B, H, T})};
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
