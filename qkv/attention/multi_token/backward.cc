// The backward of multi-token attention, with scores and weights recomputed block by block. With A the scores after
// pre_conv, P the weights of the softmax and W those that multiply V:
//
//     dV = W^T dO     dW = dO V^T     dP from dW through dropout, post_mix, mask and post_conv
//     dS = P (dP - delta), delta_i = sum_j P_ij dP_ij     dQ and dK from dS through pre_mix, pre_conv and mask
//
// A block propagates the gradient of its own outputs only. The steps are linear in it, so the contributions of
// several blocks to a row of a halo add up. Each sum is written by one task: a head, or a chunk of keys.

#include "qkv/attention/multi_token/passes.h"
#include "qkv/attention/multi_token/steps.h"
#include "qkv/attention/multi_token/sums.h"
#include "qkv/base/threads.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {
namespace {

// Runs the blocks with one index of several batch rows, one per slot.
class BackwardPass {
 public:
  BackwardPass(const MultiTokenCall& call, const MultiTokenForward& forward, const Tensor& dout, int64_t slots,
               MultiTokenSums& sums)
      : call_(call),
        forward_(forward),
        dout_(dout),
        H_(call.shape.H),
        visible_(call, slots),
        a_(call.pre_mix.given() ? HeadRows(call, slots) : HeadRows()),
        p_(call, slots),
        g_(call, slots),
        packed_floats_(packed_size(call.shape.D, widest_row_block(call)) +
                       packed_size(call.shape.E, widest_row_block(call))),
        packed_memory_(Tensor::empty({slots * H_ * packed_floats_})),
        q_(static_cast<size_t>(slots * H_)),
        upstream_(q_.size()),
        sums_(sums) {}

  void run(int64_t batch, int64_t count, int64_t index) {
    blocks_ = row_blocks(call_, batch, count, index);
    const auto for_each_head = [&](auto step) { for_each_head_of(blocks_, H_, step); };
    const auto for_each_chunk = [&](auto step) { for_each_chunk_of(blocks_, step); };
    const bool mix_before = call_.pre_mix.given();
    for_each_head([&](int64_t slot, int64_t head) {
      score(slot, head);
      if (!mix_before) weigh(slot, head);
    });
    if (mix_before) {
      for_each_chunk([&](int64_t slot, int64_t chunk) { mix_scores(slot, chunk); });
      for_each_head([&](int64_t slot, int64_t head) { weigh(slot, head); });
    }
    for_each_chunk([&](int64_t slot, int64_t chunk) { values_backward(slot, chunk); });
    for_each_head([&](int64_t slot, int64_t head) {
      weights_backward(slot, head);
      if (!mix_before) scores_backward(slot, head);
    });
    if (mix_before) {
      for_each_chunk([&](int64_t slot, int64_t chunk) { mix_backward(slot, chunk); });
      for_each_head([&](int64_t slot, int64_t head) { scores_backward(slot, head); });
    }
    for_each_chunk([&](int64_t slot, int64_t chunk) { keys_backward(slot, chunk); });
  }

 private:
  const RowBlock& block_of(int64_t slot) const { return blocks_[static_cast<size_t>(slot)]; }
  PackedRows& q_of(int64_t slot, int64_t head) { return q_[static_cast<size_t>(slot * H_ + head)]; }
  PackedRows& upstream_of(int64_t slot, int64_t head) { return upstream_[static_cast<size_t>(slot * H_ + head)]; }
  int64_t kv_head(int64_t head) const { return head * call_.shape.G / H_; }

  // A, into p_ if there is no pre_mix.
  void score(int64_t slot, int64_t head) {
    const RowBlock& block = block_of(slot);
    visible_.fill(call_, slot, block, head);
    float* memory = packed_memory_.data<float>() + (slot * H_ + head) * packed_floats_;
    const int64_t lane = block.first_real_lane();
    pack_rows(call_.q, block, head, block.first + lane, lane, block.end_lane(), memory, q_of(slot, head));
    pack_rows(dout_, block, head, block.out_row(call_.history), block.out_lane, block.end_lane(),
              memory + packed_size(call_.shape.D, block.width), upstream_of(slot, head));
    convolved_scores(call_, block, head, q_of(slot, head), visible_.scores(slot, head),
                     (call_.pre_mix.given() ? a_ : p_).of(slot, block, head));
  }

  void mix_scores(int64_t slot, int64_t chunk) {
    const RowBlock& block = block_of(slot);
    const KeyRange keys = block.chunk(chunk);
    const int64_t at = (keys.begin - block.keys.begin) * block.width;
    mix_heads(call_.pre_mix, {a_.of(slot, block, 0) + at, a_.head_stride()}, false,
              (keys.end - keys.begin) * block.width, {p_.of(slot, block, 0) + at, p_.head_stride()}, H_);
  }

  // Computes P from the softmax statistics of the forward, and its post_conv into g.
  void weigh(int64_t slot, int64_t head) {
    const RowBlock& block = block_of(slot);
    const int64_t width = block.width;
    Scratch scratch;
    float *maximum = scratch.floats(width), *inverse_sum = scratch.floats(width), *sum = scratch.floats(width);
    std::fill_n(maximum, width, 0.0f);
    std::fill_n(inverse_sum, width, 0.0f);
    std::fill_n(sum, width, 0.0f);
    const int64_t lane = std::max(block.weight_lane, block.first_real_lane());
    const int64_t at = (block.batch * H_ + head) * call_.shape.T + block.first + lane,
                  lanes = block.end_lane() - lane;
    std::copy_n(forward_.maximum.data<float>() + at, lanes, maximum + lane);
    std::copy_n(forward_.inverse_sum.data<float>() + at, lanes, inverse_sum + lane);
    float* p = p_.of(slot, block, head);
    loops().exponentials(p, block.count(), width, visible_.weights(slot, head), maximum, sum);
    loops().scale(p, block.count(), width, inverse_sum);
    convolved_weights(call_, block, head, p, visible_.outputs(slot, head), g_.of(slot, block, head));
  }

  // Computes dV and, in place in g, the gradient of the input of post_mix, a few keys of all heads at a time.
  void values_backward(int64_t slot, int64_t chunk) {
    constexpr int64_t piece_keys = 16;
    const RowBlock& block = block_of(slot);
    const int64_t width = block.width, stride = piece_keys * width;
    const StridedHeads g = {g_.of(slot, block, 0), g_.head_stride()};
    Scratch scratch;
    const StridedHeads w = {scratch.floats(H_ * stride), stride}, dw = {scratch.floats(H_ * stride), stride};
    const int64_t part = block.batch * count_chunks(call_) + chunk;
    const KeyRange keys = block.chunk(chunk);
    for (int64_t key = keys.begin; key < keys.end; key += piece_keys) {
      const int64_t count = std::min(piece_keys, keys.end - key), at = (key - block.keys.begin) * width;
      const StridedHeads c = {g.data + at, g.stride};
      if (call_.post_mix.given()) mix_heads(call_.post_mix, c, false, count * width, w, H_);
      for (int64_t h = 0; h < H_; ++h)
        value_products(slot, h, key, count, call_.post_mix.given() ? w.data + h * stride : c.data + h * c.stride,
                       dw.data + h * stride);
      if (call_.post_mix.given()) {
        mix_gradient(call_.post_mix, dw, c, count * width, width, sums_.post_mix.of(part));
        mix_heads(call_.post_mix, dw, true, count * width, c, H_);
      } else {
        for (int64_t h = 0; h < H_; ++h) std::copy_n(dw.data + h * stride, count * width, c.data + h * c.stride);
      }
      for (int64_t h = 0; h < H_; ++h)
        loops().clear(c.data + h * c.stride, count, width, visible_.outputs(slot, h) + (key - block.keys.begin),
                      c.data + h * c.stride);
    }
  }

  // dW^T = V dO^T and dV += W^T dO, for some keys of one head; w before dropout, dw too.
  void value_products(int64_t slot, int64_t head, int64_t key, int64_t count, float* w, float* dw) {
    const RowBlock& block = block_of(slot);
    drop_weights(call_, block, head, key, count, w);
    const PackedRows& upstream = upstream_of(slot, head);
    products().overwrite({.a = row_pointer(call_.v, block.batch, kv_head(head), key),
                          .a_row_stride = call_.v.stride(2),
                          .a_column_stride = 1,
                          .b = upstream.transposed,
                          .b_row_stride = block.width,
                          .c = dw,
                          .c_row_stride = block.width,
                          .rows = count,
                          .width = block.width,
                          .depth = upstream.columns});
    drop_weights(call_, block, head, key, count, dw);
    products().add({.a = w + block.out_lane,
                    .a_row_stride = block.width,
                    .a_column_stride = 1,
                    .b = upstream.rows + block.out_lane * upstream.row_width,
                    .b_row_stride = upstream.row_width,
                    .c = row_pointer(sums_.dv, block.batch, kv_head(head), key),
                    .c_row_stride = upstream.row_width,
                    .rows = count,
                    .width = upstream.row_width,
                    .depth = block.outputs});
  }

  // Propagates g through post_conv and the softmax, in place.
  void weights_backward(int64_t slot, int64_t head) {
    const RowBlock& block = block_of(slot);
    const int64_t count = block.count(), width = block.width;
    float *g = g_.of(slot, block, head), *p = p_.of(slot, block, head);
    Scratch scratch;
    float *delta = scratch.floats(width), *dp = g;
    if (call_.post_conv.given()) {
      const HeadConvolution& c = call_.post_conv;
      dp = scratch_rows(call_, block, scratch);
      clear_border(call_, block, g);
      loops().correlate(c.forward(head, p, nullptr, count, width), g,
                        sums_.post_conv.of(block.batch) + head * c.size());
      loops().convolve(c.backward(head, g, dp, count, width));
    }
    std::fill_n(delta, width, 0.0f);
    loops().dot_columns(p, dp, count, width, delta);
    kernel::kernels().attention.softmax_backward(p, dp, count, width, delta);
    if (dp != g) std::copy_n(dp, count * width, g);
  }

  void mix_backward(int64_t slot, int64_t chunk) {
    constexpr int64_t piece_keys = 4;
    const RowBlock& block = block_of(slot);
    const KeyRange keys = block.chunk(chunk);
    const StridedHeads a = {a_.of(slot, block, 0), a_.head_stride()}, g = {g_.of(slot, block, 0), g_.head_stride()};
    double* sums = sums_.pre_mix.of(block.batch * count_chunks(call_) + chunk);
    for_each_piece(block, keys, piece_keys, [&](int64_t at, int64_t count) {
      mix_gradient(call_.pre_mix, {g.data + at, g.stride}, {a.data + at, a.stride}, count, block.width, sums);
    });
    mix_chunk(call_.pre_mix, true, block, keys, g, H_);
  }

  // d matrix(o, h) += sum dout[o] in[h], for every group, over `count` floats: rows of `width`.
  void mix_gradient(const HeadMix& mix, const StridedHeads& dout, const StridedHeads& in, int64_t count,
                    int64_t width, double* sums) const {
    const int64_t n = mix.size;
    for (int64_t h = 0; h < H_; h += n) {
      const kernel::HeadTiles of_out = {dout.data + h * dout.stride, dout.stride, n},
                              of_in = {in.data + h * in.stride, in.stride, n};
      loops().dot_all_heads(mix.input_first ? of_in : of_out, mix.input_first ? of_out : of_in, count / width,
                            width, sums + h * n);
    }
  }

  // Propagates g through pre_conv, in place, to the gradient of the scores, and computes dQ.
  void scores_backward(int64_t slot, int64_t head) {
    const RowBlock& block = block_of(slot);
    const int64_t count = block.count(), width = block.width;
    float* g = g_.of(slot, block, head);
    if (call_.pre_conv.given()) {
      const HeadConvolution& c = call_.pre_conv;
      const uint64_t* visible = visible_.scores(slot, head);
      Scratch scratch;
      float *s = scratch_rows(call_, block, scratch), *ds = scratch_rows(call_, block, scratch);
      compute_scores(call_, block, head, q_of(slot, head), s);
      loops().clear(s, count, width, visible, s);
      clear_border(call_, block, s);
      clear_border(call_, block, g);
      loops().correlate(c.forward(head, s, nullptr, count, width), g,
                        sums_.pre_conv.of(block.batch) + head * c.size());
      loops().convolve(c.backward(head, g, ds, count, width));
      loops().clear(ds, count, width, visible, g);
    }
    queries_backward(block, head, g);
  }

  // dQ^T += K^T dS
  void queries_backward(const RowBlock& block, int64_t head, const float* ds) {
    const int64_t D = call_.shape.D, width = block.width;
    Scratch scratch;
    float *dq = scratch.floats(D * width), *dq_rows = scratch.floats(width * D), *factor = scratch.floats(width);
    std::fill_n(dq, D * width, 0.0f);
    std::fill_n(factor, width, call_.scale);
    for (int64_t c = block.first_chunk(); c < block.end_chunk(); ++c) {
      const KeyRange keys = block.chunk(c);
      products().add({.a = row_pointer(call_.k, block.batch, kv_head(head), keys.begin),
                      .a_row_stride = 1,
                      .a_column_stride = call_.k.stride(2),
                      .b = ds + (keys.begin - block.keys.begin) * width,
                      .b_row_stride = width,
                      .c = dq,
                      .c_row_stride = width,
                      .rows = D,
                      .width = width,
                      .depth = keys.end - keys.begin});
    }
    kernel::kernels().attention.transpose_out(dq, width, width, D, factor, dq_rows, D);
    for (int64_t lane = block.first_real_lane(); lane < block.end_lane(); ++lane) {
      float* row = row_pointer(sums_.dq, block.batch, head, block.first + lane);
      kernel::kernels().rows.add(row, dq_rows + lane * D, D, row);
    }
  }

  // dK += dS Q for a chunk of keys, head after head.
  void keys_backward(int64_t slot, int64_t chunk) {
    const RowBlock& block = block_of(slot);
    const KeyRange keys = block.chunk(chunk);
    for (int64_t h = 0; h < H_; ++h) {
      const PackedRows& q = q_of(slot, h);
      products().add({.a = g_.of(slot, block, h) + (keys.begin - block.keys.begin) * block.width,
                      .a_row_stride = block.width,
                      .a_column_stride = 1,
                      .b = q.rows,
                      .b_row_stride = q.row_width,
                      .c = row_pointer(sums_.dk, block.batch, kv_head(h), keys.begin),
                      .c_row_stride = q.row_width,
                      .rows = keys.end - keys.begin,
                      .width = q.row_width,
                      .depth = block.end_lane()});
    }
  }

  const MultiTokenCall& call_;
  const MultiTokenForward& forward_;
  const Tensor& dout_;
  int64_t H_;
  MaskBits visible_;
  HeadRows a_, p_, g_;  // A; P; the input of post_mix, then gradients
  int64_t packed_floats_;
  Tensor packed_memory_;
  std::vector<PackedRows> q_, upstream_;
  RowBlocks blocks_;
  MultiTokenSums& sums_;
};

// The first `columns` columns, times a factor.
Tensor without_padding(const Tensor& x, int64_t columns, float factor) {
  Tensor out = Tensor::empty({x.dim(0), x.dim(1), x.dim(2), columns});
  const int64_t width = x.dim(3);
  parallel_ranges(x.numel() / std::max<int64_t>(1, width), 256, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      kernel::kernels().rows.scale(x.data<float>() + row * width, factor, columns,
                                   out.data<float>() + row * columns);
  });
  return out;
}

}  // namespace

MultiTokenGradients multi_token_backward(const MultiTokenCall& call, const MultiTokenForward& forward,
                                         const Tensor& dout) {
  const AttentionShape& n = call.shape;
  MultiTokenSums sums(call);
  if (dout.numel() > 0) {
    const int64_t slots = batch_slots(call), blocks = count_row_blocks(call);
    BackwardPass pass(call, forward, dout, slots, sums);
    for (int64_t batch = 0; batch < n.B; batch += slots)
      for (int64_t index = 0; index < blocks; ++index) pass.run(batch, std::min(slots, n.B - batch), index);
  }
  MultiTokenGradients g = {
      .dq = sums.dq, .dk = without_padding(sums.dk, n.D, call.scale), .dv = without_padding(sums.dv, n.E, 1.0f)};
  const auto of_convolution = [&](const HeadConvolution& c, const PartialSums& partial) {
    if (c.given()) g.parameters.push_back(partial.total({n.H, 1, c.queries, c.keys}));
  };
  const auto of_mix = [&](const HeadMix& mix, const PartialSums& partial) {
    if (!mix.given()) return;
    g.parameters.push_back(partial.total(mix.matrices.shape()));
  };
  of_convolution(call.pre_conv, sums.pre_conv);
  of_mix(call.pre_mix, sums.pre_mix);
  of_convolution(call.post_conv, sums.post_conv);
  of_mix(call.post_mix, sums.post_mix);
  return g;
}

}  // namespace qkv::internal
