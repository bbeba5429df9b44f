#include <cmath>

#include "qkv/attention/multi_token/passes.h"
#include "qkv/attention/multi_token/steps.h"
#include "qkv/kernel/kernels.h"
#include "qkv/tensor/layout.h"

namespace qkv::internal {
namespace {

// Runs the blocks with one index of several batch rows, one per slot.
class ForwardPass {
 public:
  ForwardPass(const MultiTokenCall& call, int64_t slots, MultiTokenForward& result)
      : call_(call), H_(call.shape.H), visible_(call, slots), a_(call, slots), result_(result) {}

  void run(int64_t batch, int64_t count, int64_t index) {
    blocks_ = row_blocks(call_, batch, count, index);
    const auto for_each_head = [&](auto step) { for_each_head_of(blocks_, H_, step); };
    const auto mix = [&](const HeadMix& matrices) {
      for_each_chunk_of(blocks_, [&](int64_t slot, int64_t chunk) {
        const RowBlock& block = block_of(slot);
        mix_chunk(matrices, false, block, block.chunk(chunk), {a_.of(slot, block, 0), a_.head_stride()}, H_);
      });
    };
    // Consecutive steps on the same head are one task.
    const bool mix_before = call_.pre_mix.given(), mix_after = call_.post_mix.given();
    for_each_head([&](int64_t slot, int64_t head) {
      score(slot, head);
      if (mix_before) return;
      weigh(slot, head);
      if (!mix_after) sum_values(slot, head);
    });
    if (mix_before) {
      mix(call_.pre_mix);
      for_each_head([&](int64_t slot, int64_t head) {
        weigh(slot, head);
        if (!mix_after) sum_values(slot, head);
      });
    }
    if (mix_after) {
      mix(call_.post_mix);
      for_each_head([&](int64_t slot, int64_t head) { sum_values(slot, head); });
    }
  }

 private:
  const RowBlock& block_of(int64_t slot) const { return blocks_[static_cast<size_t>(slot)]; }

  void score(int64_t slot, int64_t head) {
    const RowBlock& block = block_of(slot);
    Scratch scratch;
    visible_.fill(call_, slot, block, head);
    PackedRows q;
    const int64_t lane = block.first_real_lane();
    pack_rows(call_.q, block, head, block.first + lane, lane, block.end_lane(),
              scratch.floats(packed_size(call_.shape.D, block.width)), q);
    convolved_scores(call_, block, head, q, visible_.scores(slot, head), a_.of(slot, block, head));
  }

  // The softmax and post_conv.
  void weigh(int64_t slot, int64_t head) {
    const RowBlock& block = block_of(slot);
    const int64_t width = block.width;
    const uint64_t* visible = visible_.weights(slot, head);
    Scratch scratch;
    float *maximum = scratch.floats(width), *sum = scratch.floats(width);
    float* s = a_.of(slot, block, head);
    reset({.maximum = maximum, .sum = sum, .rescale = nullptr}, width);
    loops().maximum(s, block.count(), width, visible, maximum);
    for (int64_t i = 0; i < width; ++i)
      if (std::isinf(maximum[i])) maximum[i] = 0.0f;
    for (int64_t c = block.first_chunk(); c < block.end_chunk(); ++c) {
      const KeyRange keys = block.chunk(c);
      const int64_t at = keys.begin - block.keys.begin;
      loops().exponentials(s + at * width, keys.end - keys.begin, width, visible + at, maximum, sum);
    }
    for (int64_t i = 0; i < width; ++i) sum[i] = sum[i] > 0 ? 1.0f / sum[i] : 0.0f;
    loops().scale(s, block.count(), width, sum);
    keep_statistics(block, head, maximum, sum);

    float* c = scratch_rows(call_, block, scratch);
    convolved_weights(call_, block, head, s, visible_.outputs(slot, head), c);
    std::copy_n(c, block.count() * width, s);
  }

  // Stores the statistics of the rows of this block. Earlier blocks have written those of the halo, except for the
  // history.
  void keep_statistics(const RowBlock& block, int64_t head, const float* maximum, const float* inverse_sum) {
    const bool is_first = block.out_row(call_.history) == 0;
    const int64_t lane = is_first ? std::max(block.weight_lane, block.first_real_lane()) : block.out_lane;
    const int64_t at = (block.batch * H_ + head) * call_.shape.T + block.first + lane;
    std::copy(maximum + lane, maximum + block.end_lane(), result_.maximum.data<float>() + at);
    std::copy(inverse_sum + lane, inverse_sum + block.end_lane(), result_.inverse_sum.data<float>() + at);
  }

  void sum_values(int64_t slot, int64_t head) {
    const RowBlock& block = block_of(slot);
    const int64_t E = call_.shape.E, width = block.width, kv_head = head * call_.shape.G / H_;
    Scratch scratch;
    float* w = a_.of(slot, block, head);
    drop_weights(call_, block, head, block.keys.begin, block.count(), w);
    constexpr int64_t slack = 2 * max_block_queries;  // the transpose reads past the end, in unused lanes
    float* out = scratch.floats(E * width + slack);
    std::fill_n(out, E * width, 0.0f);
    for (int64_t c = block.first_chunk(); c < block.end_chunk(); ++c) {
      const KeyRange keys = block.chunk(c);
      kernel::kernels().attention.products.add({.a = row_pointer(call_.v, block.batch, kv_head, keys.begin),
                                                .a_row_stride = 1,
                                                .a_column_stride = call_.v.stride(2),
                                                .b = w + (keys.begin - block.keys.begin) * width,
                                                .b_row_stride = width,
                                                .c = out,
                                                .c_row_stride = width,
                                                .rows = E,
                                                .width = width,
                                                .depth = keys.end - keys.begin});
    }
    float* ones = scratch.floats(slack);
    std::fill_n(ones, slack, 1.0f);
    const int64_t row = block.out_row(call_.history);
    kernel::kernels().attention.transpose_out(out + block.out_lane, width, block.outputs, E, ones,
                                              row_pointer(result_.out, block.batch, head, row),
                                              result_.out.stride(2));
    if (!result_.weights.defined()) return;
    for (int64_t i = 0; i < block.outputs; ++i) {
      float* to = row_pointer(result_.weights, block.batch, head, row + i) + block.keys.begin;
      for (int64_t j = 0; j < block.count(); ++j) to[j] = w[j * width + block.out_lane + i];
    }
  }

  const MultiTokenCall& call_;
  int64_t H_;
  MaskBits visible_;
  HeadRows a_;  // scores, then weights
  RowBlocks blocks_;
  MultiTokenForward& result_;
};

}  // namespace

MultiTokenForward multi_token_forward(const MultiTokenCall& call, bool with_weights) {
  const AttentionShape& n = call.shape;
  MultiTokenForward result = {.out = empty_in_order_of(call.q, {n.B, n.H, call.outputs(), n.E}),
                              .weights = {},
                              .maximum = Tensor::zeros({n.B, n.H, n.T}),
                              .inverse_sum = Tensor::zeros({n.B, n.H, n.T})};
  if (with_weights) result.weights = Tensor::zeros({n.B, n.H, call.outputs(), n.S});
  if (result.out.numel() == 0) return result;
  const int64_t slots = batch_slots(call), blocks = count_row_blocks(call);
  ForwardPass pass(call, slots, result);
  for (int64_t batch = 0; batch < n.B; batch += slots)
    for (int64_t index = 0; index < blocks; ++index) pass.run(batch, std::min(slots, n.B - batch), index);
  return result;
}

}  // namespace qkv::internal
