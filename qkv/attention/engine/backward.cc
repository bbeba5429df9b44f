// The backward of attention, with scores recomputed tile by tile. With P the weights before and W those after the
// reweighting (W = f P), and delta_i = sum_e out_ie dout_ie:
//
//     dV = W^T dO      dW = dO V^T      dP = f dW      dS = P (dP - delta)      dQ, dK and parameters from dS
//
// A task takes a span of the keys of one key/value head of one batch row and iterates over all queries that read
// them, in order: sums need no atomics, and their order does not depend on the threads. With few heads the keys are
// cut into several spans, whose dQ are added in the order of the spans.

#include <algorithm>
#include <cstring>
#include <span>

#include "qkv/attention/engine/engine.h"
#include "qkv/attention/engine/pack.h"
#include "qkv/base/integers.h"
#include "qkv/base/scratch.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/layout.h"

namespace qkv::internal {
namespace {

// How the keys of a head are cut into spans: at fixed positions, so that a batch row has the same bits in any batch
// and with any padding. One span if the heads alone are enough tasks; else as many spans run concurrently as make
// enough tasks.
struct Spans {
  int64_t first, total, keys, count = 1, concurrent = 1;

  explicit Spans(const AttentionCall& call) : first(call.part.key), total(call.part.keys), keys(total) {
    constexpr int64_t enough_tasks = 8, span_keys = 512;
    const int64_t G = call.shape.G;
    if (G >= enough_tasks || total <= span_keys) return;
    keys = span_keys;
    count = ceil_div(total, keys);
    concurrent = std::min(count, ceil_div(enough_tasks, G));
  }
  KeyRange range(int64_t span) const { return {first + span * keys, first + std::min(total, (span + 1) * keys)}; }
};

// The offsets of the parameters' gradients in a partial sum, and the number of partial sums: one per task while
// they are small, else fewer, each shared by a chain of tasks that run in order. The spans of a head are in
// adjacent chains, so their contributions are added in the order of the spans, whatever the number of heads.
struct ParameterLayout {
  std::vector<Variable> parameters;
  std::vector<int64_t> modifier_offset, reweigher_offset;
  int64_t normalizer_offset = 0, size = 0, chains = 1;

  ParameterLayout(const AttentionCall& call, int64_t heads, int64_t spans) {
    append(call.score->parameters());
    for (const ModifierPtr& modifier : call.modify) {
      modifier_offset.push_back(size);
      append(modifier->parameters());
    }
    normalizer_offset = size;
    append(call.normalize->parameters());
    for (const ReweigherPtr& reweigher : call.reweigh) {
      reweigher_offset.push_back(size);
      append(reweigher->parameters());
    }
    constexpr int64_t max_floats = int64_t{4} << 20, min_chains = 4;
    const int64_t fitting = size == 0 ? heads * spans : std::max(min_chains, max_floats / size);
    chains = std::max<int64_t>(1, std::min(fitting / spans, heads)) * spans;
  }

 private:
  void append(const std::vector<Variable>& more) {
    for (const Variable& p : more) {
      parameters.push_back(p);
      size += p.value().numel();
    }
  }
};

class SpanTask {
 public:
  SpanTask(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout,
           const ParameterLayout& layout, float* parameters)
      : call_(call),
        forward_(forward),
        dout_(dout),
        layout_(layout),
        parameters_(parameters),
        d_width_(round_to_lanes(call.shape.D)),
        e_width_(round_to_lanes(call.shape.E)),
        scale_(call.score->dot_scale(call.shape.D).value_or(1.0f)),
        deferred_scale_(deferred_scale(call)),
        scope_(call) {}

  // dq receives the contribution of the span's keys: the gradient itself, or a part of it.
  void run(int64_t batch, int64_t kv_head, const KeyRange& span, Tensor& dq, BackwardResult& result) {
    const AttentionShape& shape = call_.shape;
    const int64_t keys = span.end - span.begin;
    Scratch scratch;
    span_ = span;
    dk_ = scratch.floats(keys * d_width_);
    dv_ = scratch.floats(keys * e_width_);
    std::fill_n(dk_, keys * d_width_, 0.0f);
    std::fill_n(dv_, keys * e_width_, 0.0f);
    KeyPacker k(call_, call_.k, {batch, kv_head}, true, scratch),
        v(call_, call_.v, {batch, kv_head}, false, scratch);
    const int64_t group = shape.H / shape.G;
    for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head)
      for (int64_t index = 0; index < count_query_blocks(call_); ++index)
        block(query_block(call_, batch, head, index), k, v, dq);
    const RowIndex first = {batch, kv_head - call_.kv_head(), span.begin - call_.part.key};
    write_rows(dk_, d_width_, keys, scale_, result.dk, first);
    write_rows(dv_, e_width_, keys, 1.0f, result.dv, first);
  }

 private:
  void block(const QueryBlock& block, KeyPacker& k, KeyPacker& v, Tensor& dq) {
    const int64_t D = call_.shape.D, width = block.width, tile_size = max_block_keys * width;
    Scratch scratch;
    // Dot products of f32 write dq in its memory order, without a transpose.
    const bool as_rows = !call_.is_bf16() && call_.score->dot_scale(D) && D == d_width_;
    float* dq_block = scratch.floats(D * width);
    std::fill_n(dq_block, D * width, 0.0f);
    const QueryBlock rows = rows_of(call_, block);
    const float* delta = pack_delta(rows, scratch);
    const BlockStatistics statistics = load_statistics(forward_.statistics, rows, scratch);
    if (call_.counts_normalizer && span_.begin == call_.part.key)
      call_.normalize->backward_block(block, statistics.maximum, statistics.inverse_sum, delta,
                                      parameters_ + layout_.normalizer_offset);
    const BlockOperand queries = pack_block(call_.q, rows, true, scratch);
    const BlockOperand upstream = pack_block(dout_, rows, true, scratch);
    const WeightPacker pack_weights(call_, block, {.rows = true}, scratch);
    const WeightPacker pack_gradient(call_, block, {.rows = true, .columns = true}, scratch);
    float* p = scratch.floats(tile_size);
    float* ds = scratch.floats(tile_size);
    float* w = call_.reweigh.empty() ? p : scratch.floats(tile_size);
    float* slope = call_.normalize->needs_slope() ? scratch.floats(tile_size) : nullptr;
    float** modified = modified_tiles(tile_size, scratch);

    for_each_tile(call_, block, span_, [&](const Tile& tile, const uint64_t* visible) {
      const ScoreOperands operands = {&products(call_), queries.of(tile), k.at(tile)};
      const BlockOperand dout = upstream.of(tile);
      const float *maximum = statistics.maximum + tile.lane, *inverse_sum = statistics.inverse_sum + tile.lane;
      compute_scores(call_, tile, operands, p);
      modify_and_mask(call_, tile, visible, p, modified);
      const bool fused = call_.is_bf16() && call_.reweigh.empty();  // one kernel computes and packs the weights
      if (fused)
        call_.normalize->weights_to_bf16(tile, p, deferred_scale_, maximum, inverse_sum, slope,
                                         pack_weights.rows());
      else
        call_.normalize->weights(tile, p, maximum, inverse_sum, slope);
      multiply_rows(products(call_), tile, v.at(tile), dout, 1.0f, ds);  // dW^T = V dO^T
      if (w != p) std::memcpy(w, p, static_cast<size_t>(tile.keys * tile.width) * sizeof(float));
      reweigh(tile, w, ds);
      const int64_t row = tile.key - span_.begin;
      add_rows_product(products(call_), tile, fused ? pack_weights.packed(tile, w) : pack_weights.pack(tile, w),
                       dout, dv_ + row * e_width_);
      call_.score->backward(tile, operands,
                            gradient(tile, p, slope, delta + tile.lane, modified, ds, pack_gradient),
                            {.dq_transposed = as_rows ? nullptr : dq_block + tile.lane,
                             .dq_rows = as_rows ? dq_block + tile.lane * D : nullptr,
                             .dk = dk_ + row * d_width_,
                             .parameters = parameters_});
    });

    if (as_rows) return write_rows(dq_block, D, rows.queries, scale_, dq, {rows.batch, rows.head, rows.query});
    float* scale = scratch.floats(width);
    std::fill_n(scale, width, scale_);
    write_block(dq_block, rows, scale, dq);
  }

  // Turns w from P into W, and dw from dW into dP.
  void reweigh(const Tile& tile, float* w, float* dw) const {
    for (const ReweigherPtr& reweigher : call_.reweigh) reweigher->multiply(tile, w);
    for (size_t r = 0; r < call_.reweigh.size(); ++r)
      call_.reweigh[r]->backward(tile, w, dw, parameters_ + layout_.reweigher_offset[r]);
    for (const ReweigherPtr& reweigher : call_.reweigh) reweigher->multiply(tile, dw);
  }

  // Turns ds from dP into the gradient of the raw scores, and returns it packed.
  WeightOperand gradient(const Tile& tile, const float* p, const float* slope, const float* delta,
                         float* const* modified, float* ds, const WeightPacker& packer) const {
    if (call_.is_bf16() && call_.modify.empty()) {
      call_.normalize->backward_to_bf16(tile, p, slope, delta, ds, packer.rows(), packer.columns());
      return packer.packed(tile, ds);
    }
    call_.normalize->backward(tile, p, slope, delta, ds);
    for (size_t m = call_.modify.size(); m-- > 0;)
      call_.modify[m]->backward(tile, modified[m], ds, parameters_ + layout_.modifier_offset[m]);
    return packer.pack(tile, ds);
  }

  const float* pack_delta(const QueryBlock& rows, Scratch& scratch) const {
    float* delta = scratch.floats(rows.width);
    std::fill_n(delta, rows.width, 0.0f);
    const Tensor &d = dout_, &o = forward_.out;
    const auto& kernels = kernel::kernels().attention;
    if (!call_.is_bf16()) {
      kernels.dot_rows(row_pointer(d, rows.batch, rows.head, rows.query), d.stride(2),
                       row_pointer(o, rows.batch, rows.head, rows.query), o.stride(2), rows.queries, call_.shape.E,
                       delta);
    } else {
      const auto at = [&](const Tensor& x) { return bf16_row_pointer(x, rows.batch, rows.head, rows.query); };
      kernels.dot_rows_bf16(at(d), d.stride(2), at(o), o.stride(2), rows.queries, call_.shape.E, delta);
    }
    return delta;
  }

  // Memory for the modified scores, for modifiers whose backward needs them.
  float** modified_tiles(int64_t tile_size, Scratch& scratch) const {
    const size_t count = call_.modify.size();
    auto** tiles = reinterpret_cast<float**>(scratch.floats(static_cast<int64_t>(2 * count + 1)));
    for (size_t m = 0; m < count; ++m)
      tiles[m] = call_.modify[m]->saves() != Modifier::Saves::nothing ? scratch.floats(tile_size) : nullptr;
    return tiles;
  }

  const AttentionCall& call_;
  const ForwardResult& forward_;
  const Tensor& dout_;
  const ParameterLayout& layout_;
  float* parameters_;
  KeyRange span_;
  float *dk_ = nullptr, *dv_ = nullptr;  // (keys of the span, D or E rounded up to the lanes)
  int64_t d_width_, e_width_;
  float scale_, deferred_scale_;
  TileScope scope_;
};

// Adds the parts of the spans to sum, in their order.
void add_parts(std::span<const Tensor> parts, Tensor& sum) {
  const int64_t D = sum.dim(3);
  parallel_ranges(sum.numel() / D, 64, [&](int64_t begin, int64_t end) {
    for (const Tensor& part : parts)
      kernel::kernels().rows.add_scaled(part.data<float>() + begin * D, 1.0f, (end - begin) * D,
                                        sum.data<float>() + begin * D);
  });
}

std::vector<Tensor> sum_parameters(const ParameterLayout& layout, const Tensor& partial) {
  std::vector<Tensor> out;
  int64_t offset = 0;
  for (const Variable& parameter : layout.parameters) {
    Tensor sum = Tensor::zeros(parameter.shape());
    const auto to = sum.span<float>();
    for (int64_t chain = 0; chain < layout.chains; ++chain)
      for (size_t i = 0; i < to.size(); ++i)
        to[i] += partial.data<float>()[chain * layout.size + offset + static_cast<int64_t>(i)];
    offset += sum.numel();
    out.push_back(std::move(sum));
  }
  return out;
}

// The output gradient with rows that products can read.
Tensor readable(const AttentionCall& call, const Tensor& dout) {
  const bool contiguous = dout.stride(-1) == 1 || dout.dim(-1) == 1;
  if (!contiguous || (call.is_bf16() && !has_vnni_alignment(dout))) return dout.clone();
  return dout;
}

}  // namespace

BackwardResult backward_pass(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout) {
  return backward_pass(call, forward, dout, call.q.dtype());
}

BackwardResult backward_pass(const AttentionCall& call, const ForwardResult& forward, const Tensor& dout,
                             DType dtype) {
  BackwardResult result = {.dq = empty_in_order_of(call.q, call.q.shape(), dtype),
                           .dk = empty_in_order_of(call.k, call.k.shape(), dtype),
                           .dv = empty_in_order_of(call.v, call.v.shape(), dtype),
                           .parameters = {}};
  const Spans spans(call);
  const int64_t G = call.kv_heads(), heads = call.shape.B * G, concurrent = spans.concurrent;
  const ParameterLayout layout(call, heads, concurrent);
  Tensor partial = Tensor::zeros({layout.chains, layout.size});
  const Tensor upstream = readable(call, dout);
  // Runs spans [first, first + count), at most `concurrent`; span i writes its dq to parts[i].
  const auto run_spans = [&](int64_t first, int64_t count, std::span<Tensor> parts) {
    parallel_for(layout.chains, [&](int64_t chain) {
      for (int64_t task = chain; task < heads * concurrent; task += layout.chains) {
        const int64_t span = task % concurrent, head = task / concurrent;
        if (span >= count) continue;
        SpanTask(call, forward, upstream, layout, partial.data<float>() + chain * layout.size)
            .run(head / G, call.kv_head() + head % G, spans.range(first + span), parts[static_cast<size_t>(span)],
                 result);
      }
    });
  };
  if (spans.count == 1) {
    run_spans(0, 1, {&result.dq, 1});
  } else {
    Tensor sum = Tensor::zeros(call.q.shape());
    std::vector<Tensor> parts;
    for (int64_t i = 0; i < spans.concurrent; ++i) parts.push_back(Tensor::empty(call.q.shape()));
    for (int64_t first = 0; first < spans.count; first += spans.concurrent) {
      const int64_t count = std::min(spans.concurrent, spans.count - first);
      run_spans(first, count, parts);
      add_parts(std::span(parts).first(static_cast<size_t>(count)), sum);
    }
    result.dq.copy_from(sum.to(dtype));
  }
  result.parameters = sum_parameters(layout, partial);
  return result;
}

}  // namespace qkv::internal
