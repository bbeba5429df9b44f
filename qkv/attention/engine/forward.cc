#include <algorithm>
#include <cmath>
#include <limits>

#include "qkv/attention/engine/engine.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/layout.h"

namespace qkv {
namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

void forward_block(const AttentionCall& call, const QueryBlock& block, ForwardResult& result) {
  const auto& kernels = kernel::kernels().attention;
  const int64_t E = call.shape.E, width = block.width;
  Scratch scratch;
  const ScoreOperands queries = pack_queries(call, block, false, scratch);
  float* s = scratch.floats(max_block_keys * width);
  float* out = scratch.floats(E * width);  // transposed: (E, width)
  const kernel::RunningSoftmax running = {scratch.floats(width), scratch.floats(width), scratch.floats(width)};
  std::fill_n(running.maximum, width, minus_infinity);
  std::fill_n(running.sum, width, 0.0f);

  bool first = true;
  for_each_tile(call, block, [&](const Tile& tile, Visibility visibility) {
    fill_scores(call, tile, visibility, at_tile(queries, call, tile), s);
    kernels.softmax_step(s, tile.keys, width, running);
    for (const ReweigherPtr& reweigher : call.reweigh) reweigher->multiply(tile, s);
    const kernel::TileProduct product = {.a = rows(call.v, tile.batch, tile.kv_head(), tile.key),  // O^T += V^T P
                                         .a_row_stride = 1,
                                         .a_column_stride = call.v.stride(2),
                                         .b = s,
                                         .b_row_stride = width,
                                         .c = out,
                                         .c_row_stride = width,
                                         .rows = E,
                                         .width = width,
                                         .depth = tile.keys};
    if (first) {
      kernels.product(product);
    } else {
      kernels.product_rescale(product, running.rescale);
    }
    first = false;
  });
  if (first) std::fill_n(out, E * width, 0.0f);

  const int64_t at = (block.batch * call.shape.H + block.head) * call.shape.T + block.query;
  float* inverse_sum = result.statistics.inverse_sum.data<float>() + at;
  for (int64_t i = 0; i < block.queries; ++i) inverse_sum[i] = running.sum[i] > 0 ? 1.0f / running.sum[i] : 0.0f;
  std::copy_n(running.maximum, block.queries, result.statistics.maximum.data<float>() + at);
  kernels.transpose_out(out, width, block.queries, E, inverse_sum,
                        rows(result.out, block.batch, block.head, block.query), result.out.stride(2));
}

}  // namespace

ForwardResult attention_forward(const AttentionCall& call) {
  const AttentionShape& shape = call.shape;
  ForwardResult result = {
      .out = empty_in_order_of(call.q, {shape.B, shape.H, shape.T, shape.E}),
      .statistics = {Tensor::empty({shape.B, shape.H, shape.T}), Tensor::empty({shape.B, shape.H, shape.T})}};
  const int64_t blocks = count_blocks(shape.T);
  // The last blocks first: under a causal mask they are the longest.
  parallel_for(shape.B * shape.H * blocks, [&](int64_t task) {
    const int64_t bh = task / blocks;
    forward_block(call, block_of(shape, bh / shape.H, bh % shape.H, blocks - 1 - task % blocks), result);
  });
  return result;
}

Tensor log_sum_exp(const SoftmaxStatistics& statistics) {
  Tensor lse = Tensor::empty(statistics.maximum.shape());
  const auto out = lse.span<float>();
  const auto maximum = statistics.maximum.span<float>(), inverse_sum = statistics.inverse_sum.span<float>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = inverse_sum[i] > 0 ? maximum[i] - std::log(inverse_sum[i]) : minus_infinity;
  return lse;
}

}  // namespace qkv
