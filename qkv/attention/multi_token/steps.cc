#include "qkv/attention/multi_token/steps.h"

#include "qkv/base/integers.h"

namespace qkv::internal {
namespace {

constexpr int64_t slack = 64;  // floats that products may read past the end of packed rows

}  // namespace

int64_t packed_size(int64_t columns, int64_t width) {
  return width * round_to_lanes(columns) + columns * width + slack;
}

void pack_rows(const Tensor& x, const RowBlock& block, int64_t head, int64_t query, int64_t begin, int64_t end,
               float* memory, PackedRows& packed) {
  const int64_t columns = x.dim(3), row_width = round_to_lanes(columns);
  packed = {
      .rows = memory, .transposed = memory + block.width * row_width, .row_width = row_width, .columns = columns};
  std::fill_n(packed.rows, block.width * row_width, 0.0f);
  for (int64_t lane = begin; lane < end; ++lane)
    std::copy_n(row_pointer(x, block.batch, head, query + lane - begin), columns, packed.rows + lane * row_width);
  kernel::kernels().attention.transpose_in(packed.rows, row_width, block.width, columns, packed.transposed,
                                           block.width, block.width);
}

void compute_scores(const MultiTokenCall& call, const RowBlock& block, int64_t head, const PackedRows& q,
                    float* s) {
  const int64_t kv_head = head * call.shape.G / call.shape.H;
  for (int64_t c = block.first_chunk(); c < block.end_chunk(); ++c) {
    const KeyRange keys = block.chunk(c);
    products().overwrite({.a = row_pointer(call.k, block.batch, kv_head, keys.begin),
                          .a_row_stride = call.k.stride(2),
                          .a_column_stride = 1,
                          .b = q.transposed,
                          .b_row_stride = block.width,
                          .c = s + (keys.begin - block.keys.begin) * block.width,
                          .c_row_stride = block.width,
                          .rows = keys.end - keys.begin,
                          .width = block.width,
                          .depth = q.columns,
                          .scale = call.scale});
  }
}

void convolved_scores(const MultiTokenCall& call, const RowBlock& block, int64_t head, const PackedRows& q,
                      const uint64_t* visible, float* out) {
  if (!call.pre_conv.given()) return compute_scores(call, block, head, q, out);
  Scratch scratch;
  float* s = scratch_rows(call, block, scratch);
  compute_scores(call, block, head, q, s);
  loops().clear(s, block.count(), block.width, visible, s);
  clear_border(call, block, s);
  loops().convolve(call.pre_conv.forward(head, s, out, block.count(), block.width));
}

void convolved_weights(const MultiTokenCall& call, const RowBlock& block, int64_t head, float* p,
                       const uint64_t* visible, float* c) {
  if (!call.post_conv.given()) return loops().clear(p, block.count(), block.width, visible, c);
  clear_border(call, block, p);
  loops().convolve(call.post_conv.forward(head, p, c, block.count(), block.width));
  loops().clear(c, block.count(), block.width, visible, c);
}

void drop_weights(const MultiTokenCall& call, const RowBlock& block, int64_t head, int64_t key, int64_t keys,
                  float* w) {
  if (!call.dropout) return;
  const MultiTokenPart& part = call.part;
  const AttentionShape& n = part.whole;
  const int64_t whole_outputs = n.T - part.history;
  const int64_t row = rounded_up(whole_outputs, max_block_queries);
  const int64_t output = part.query + block.out_row(part.history);
  for (int64_t j = 0; j < keys; ++j) {
    const int64_t first = ((block.batch * n.H + head) * n.S + part.key + key + j) * row + output;
    float* outputs = w + j * block.width + block.out_lane;
    kernel::kernels().rows.dropout(outputs, block.outputs, *call.dropout, first, outputs);
  }
}

void mix_heads(const HeadMix& mix, const StridedHeads& in, bool transposed, int64_t count, const StridedHeads& out,
               int64_t H) {
  const int64_t n = mix.size;
  const bool along_rows = mix.input_first == transposed;  // inputs are adjacent in a matrix
  for (int64_t h = 0; h < H; h += n)
    products().overwrite({.a = mix.matrices.data<float>() + h * n,
                          .a_row_stride = along_rows ? n : 1,
                          .a_column_stride = along_rows ? 1 : n,
                          .b = in.data + h * in.stride,
                          .b_row_stride = in.stride,
                          .c = out.data + h * out.stride,
                          .c_row_stride = out.stride,
                          .rows = n,
                          .width = count,
                          .depth = n});
}

void mix_chunk(const HeadMix& mix, bool transposed, const RowBlock& block, const KeyRange& keys,
               const StridedHeads& heads, int64_t H) {
  constexpr int64_t piece_rows = 4;
  Scratch scratch;
  const int64_t stride = piece_rows * block.width;
  float* mixed = scratch.floats(H * stride);
  for_each_piece(block, keys, piece_rows, [&](int64_t at, int64_t count) {
    mix_heads(mix, {heads.data + at, heads.stride}, transposed, count, {mixed, stride}, H);
    for (int64_t h = 0; h < H; ++h) std::copy_n(mixed + h * stride, count, heads.data + h * heads.stride + at);
  });
}

int64_t batch_slots(const MultiTokenCall& call) {
  constexpr int64_t floats = int64_t{1} << 20, heads = 32;
  const AttentionShape& n = call.shape;
  const int64_t of_one = std::max<int64_t>(1, n.H * n.S * widest_row_block(call));
  return std::clamp<int64_t>(std::min(std::max(floats / of_one, heads / n.H), 64 * floats / of_one), 1, n.B);
}

}  // namespace qkv::internal
