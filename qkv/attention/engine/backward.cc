// The backward of attention, scores computed again tile by tile. With P the weights before and W those after
// reweighing (W = f P), and delta_i = sum_e out_ie dout_ie:
//
//     dV = W^T dO      dW = dO V^T      dP = f dW      dS = P (dP - delta)      dQ, dK and parameters from dS
//
// One task holds one key/value head of one batch row and goes through all queries that read it, in order: sums need
// neither atomics nor a second pass, and their order does not depend on the threads.

#include <algorithm>
#include <cstring>

#include "qkv/attention/engine/engine.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/layout.h"

namespace qkv {
namespace {

// Where the gradients of the parameters of the parts lie in the partial sums of a task.
struct ParameterLayout {
  std::vector<Variable> parameters;
  std::vector<int64_t> modifier_offset;
  int64_t size = 0;

  explicit ParameterLayout(const AttentionCall& call) {
    append(call.score->parameters());
    for (const ModifierPtr& modifier : call.modify) {
      modifier_offset.push_back(size);
      append(modifier->parameters());
    }
  }

 private:
  void append(const std::vector<Variable>& more) {
    for (const Variable& p : more) {
      parameters.push_back(p);
      size += p.value().numel();
    }
  }
};

// The upstream gradient of a block, transposed and as rows, and delta.
struct Upstream {
  const float *transposed, *rows, *delta;
};

Upstream pack_upstream(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout,
                       const QueryBlock& block, Scratch& scratch) {
  const int64_t E = call.shape.E, row_width = round_to_lanes(E);
  const float* d = rows(dout, block.batch, block.head, block.query);
  const float* o = rows(forward.out, block.batch, block.head, block.query);
  float* transposed = scratch.floats(E * block.width);
  float* packed = scratch.floats(block.queries * row_width);
  float* delta = scratch.floats(block.width);
  std::fill_n(delta, block.width, 0.0f);
  kernel::kernels().attention.transpose_in(d, dout.stride(2), block.queries, E, 1.0f, transposed, block.width);
  for (int64_t i = 0; i < block.queries; ++i) {
    const float* from = d + i * dout.stride(2);
    const float* out = o + i * forward.out.stride(2);
    float* to = packed + i * row_width;
    float sum = 0;
    for (int64_t e = 0; e < E; ++e) {
      sum += from[e] * out[e];
      to[e] = from[e];
    }
    std::fill(to + E, to + row_width, 0.0f);
    delta[i] = sum;
  }
  return {transposed, packed, delta};
}

class Task {
 public:
  Task(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout, const ParameterLayout& layout,
       float* parameters)
      : call_(call), forward_(forward), dout_(dout), layout_(layout), parameters_(parameters) {}

  void run(int64_t batch, int64_t kv_head, BackwardResult& result) {
    const AttentionShape& shape = call_.shape;
    const int64_t D = call_.q.dim(3);
    d_width_ = round_to_lanes(D);
    e_width_ = round_to_lanes(shape.E);
    Scratch scratch;
    dk_ = scratch.floats(shape.S * d_width_);
    dv_ = scratch.floats(shape.S * e_width_);
    std::fill_n(dk_, shape.S * d_width_, 0.0f);
    std::fill_n(dv_, shape.S * e_width_, 0.0f);
    const int64_t group = shape.H / shape.G;
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (int64_t index = 0; index < count_blocks(shape.T); ++index)
        block(block_of(shape, batch, head, index), result.dq);
    for (int64_t j = 0; j < shape.S; ++j) {
      std::copy_n(dk_ + j * d_width_, D, rows(result.dk, batch, kv_head, j));
      std::copy_n(dv_ + j * e_width_, shape.E, rows(result.dv, batch, kv_head, j));
    }
  }

 private:
  void block(const QueryBlock& block, Tensor& dq) {
    const int64_t D = call_.q.dim(3), width = block.width, tile_size = max_block_keys * width;
    Scratch scratch;
    const ScoreOperands queries = pack_queries(call_, block, true, scratch);
    const Upstream upstream = pack_upstream(call_, forward_, dout_, block, scratch);
    const BlockStatistics ended = load_statistics(forward_.statistics, block, scratch);
    float* dq_transposed = scratch.floats(D * width);
    std::fill_n(dq_transposed, D * width, 0.0f);
    float* p = scratch.floats(tile_size);
    float* ds = scratch.floats(tile_size);
    float* w = call_.reweigh.empty() ? p : scratch.floats(tile_size);
    std::vector<float*> modified(call_.modify.size());
    for (size_t m = 0; m < modified.size(); ++m)
      if (call_.modify[m]->needs_modified()) modified[m] = scratch.floats(tile_size);

    const auto& kernels = kernel::kernels().attention;
    for_each_tile(call_, block, [&](const Tile& tile, Visibility visibility) {
      const ScoreOperands operands = at_tile(queries, call_, tile);
      fill_scores(call_, tile, visibility, operands, p, modified.data());
      kernels.weights(p, tile.keys, width, ended.maximum, ended.inverse_sum);
      kernels.product({.a = rows(call_.v, tile.batch, tile.kv_head(), tile.key),  // dW^T = V dO^T
                       .a_row_stride = call_.v.stride(2),
                       .a_column_stride = 1,
                       .b = upstream.transposed,
                       .b_row_stride = width,
                       .c = ds,
                       .c_row_stride = width,
                       .rows = tile.keys,
                       .width = width,
                       .depth = call_.shape.E});
      if (w != p) std::memcpy(w, p, static_cast<size_t>(tile.keys * width) * sizeof(float));
      for (const ReweigherPtr& reweigher : call_.reweigh) {
        reweigher->multiply(tile, w);
        reweigher->multiply(tile, ds);
      }
      kernels.product_add({.a = w,  // dV += W^T dO
                           .a_row_stride = width,
                           .a_column_stride = 1,
                           .b = upstream.rows,
                           .b_row_stride = e_width_,
                           .c = dv_ + tile.key * e_width_,
                           .c_row_stride = e_width_,
                           .rows = tile.keys,
                           .width = e_width_,
                           .depth = tile.queries});
      kernels.softmax_backward(p, ds, tile.keys, width, upstream.delta);
      for (size_t m = call_.modify.size(); m-- > 0;)
        call_.modify[m]->backward(tile, modified[m], ds, parameters_ + layout_.modifier_offset[m]);
      call_.score->backward(tile, operands, ds, {dq_transposed, dk_ + tile.key * d_width_, parameters_});
    });

    float* scale = scratch.floats(block.queries);
    std::fill_n(scale, block.queries, call_.score->query_scale(D));
    kernels.transpose_out(dq_transposed, width, block.queries, D, scale,
                          rows(dq, block.batch, block.head, block.query), dq.stride(2));
  }

  const AttentionCall& call_;
  const ForwardResult& forward_;
  const Tensor& dout_;
  const ParameterLayout& layout_;
  float* parameters_;
  float *dk_ = nullptr, *dv_ = nullptr;  // (S, D) and (S, E), rows rounded up to the lanes
  int64_t d_width_ = 0, e_width_ = 0;
};

}  // namespace

BackwardResult attention_backward(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout) {
  const AttentionShape& shape = call.shape;
  BackwardResult result = {.dq = empty_in_order_of(call.q, call.q.shape()),
                           .dk = empty_in_order_of(call.k, call.k.shape()),
                           .dv = empty_in_order_of(call.v, call.v.shape()),
                           .parameters = {}};
  const ParameterLayout layout(call);
  const int64_t tasks = shape.B * shape.G;
  Tensor partial = Tensor::zeros({tasks, layout.size});
  float* partials = partial.data<float>();
  const Tensor upstream = dout.stride(-1) == 1 || dout.dim(-1) == 1 ? dout : dout.clone();
  parallel_for(tasks, [&](int64_t task) {
    Task(call, forward, upstream, layout, partials + task * layout.size)
        .run(task / shape.G, task % shape.G, result);
  });

  int64_t offset = 0;
  for (const Variable& parameter : layout.parameters) {
    Tensor sum = Tensor::zeros(parameter.shape());
    const auto out = sum.span<float>();
    for (int64_t task = 0; task < tasks; ++task)
      for (size_t i = 0; i < out.size(); ++i)
        out[i] += partials[task * layout.size + offset + static_cast<int64_t>(i)];
    offset += sum.numel();
    result.parameters.push_back(std::move(sum));
  }
  return result;
}

}  // namespace qkv
