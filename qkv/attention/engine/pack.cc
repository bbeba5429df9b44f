#include "qkv/attention/engine/pack.h"

#include <cstring>

#include "qkv/base/integers.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {
namespace {

const kernel::AttentionKernels& kernels() { return kernel::kernels().attention; }

constexpr int64_t chunk = max_block_keys;  // rows that are packed at a time

BlockOperand pack_floats(const Tensor& x, const QueryBlock& block, bool with_rows, Scratch& scratch) {
  const int64_t columns = x.dim(3), row_width = round_to_lanes(columns), stride = x.stride(2);
  const float* from = row_pointer(x, block.batch, block.head, block.query);
  float* transposed = scratch.floats(columns * block.width);
  kernels().transpose_in(from, stride, block.queries, columns, transposed, block.width, block.width);
  BlockOperand out = {.transposed = transposed,
                      .depth = columns,
                      .stride = block.width,
                      .rows = nullptr,
                      .row_depth = block.queries,
                      .row_width = row_width,
                      .row_stride = row_width,
                      .queries_per_row = 1};
  if (!with_rows) return out;
  if (columns == row_width) {  // a multiple of the lanes: read in place
    out.rows = from;
    out.row_stride = stride;
    return out;
  }
  float* packed = scratch.floats(block.queries * row_width);
  for (int64_t i = 0; i < block.queries; ++i) {
    std::copy_n(from + i * stride, columns, packed + i * row_width);
    std::fill(packed + i * row_width + columns, packed + (i + 1) * row_width, 0.0f);
  }
  out.rows = packed;
  return out;
}

BlockOperand pack_bf16(const Tensor& x, const QueryBlock& block, bool with_rows, Scratch& scratch) {
  const int64_t columns = x.dim(3), row_width = round_to_lanes(columns), row_depth = (block.queries + 1) / 2;
  const uint16_t* from = bf16_row_pointer(x, block.batch, block.head, block.query);
  float* transposed = scratch.floats(columns / 2 * block.width);
  kernels().transpose_in(reinterpret_cast<const float*>(from), x.stride(2) / 2, block.queries, columns / 2,
                         transposed, block.width, block.width);
  BlockOperand out = {.transposed = transposed,
                      .depth = columns / 2,
                      .stride = block.width,
                      .rows = nullptr,
                      .row_depth = row_depth,
                      .row_width = row_width,
                      .row_stride = row_width,
                      .queries_per_row = 2};
  if (!with_rows) return out;
  float* packed = scratch.floats(row_depth * row_width);
  kernels().bf16->interleave(from, x.stride(2), block.queries, columns, packed, row_width);
  out.rows = packed;
  return out;
}

void round_row(const float* from, int64_t n, bfloat16* to) {
  if (const kernel::Bf16Kernels* bf16 = kernels().bf16)
    return bf16->round(from, n, reinterpret_cast<uint16_t*>(to));
  for (int64_t i = 0; i < n; ++i) to[i] = bfloat16(from[i]);
}

}  // namespace

const kernel::TileProducts& products(const AttentionCall& call) {
  return call.is_bf16() ? kernels().bf16->products : kernels().products;
}

TileScope::TileScope(const AttentionCall& call) : bf16_(call.is_bf16() ? kernels().bf16 : nullptr) {
  if (bf16_) bf16_->begin();
}
TileScope::~TileScope() {
  if (bf16_) bf16_->end();
}

float deferred_scale(const AttentionCall& call) {
  if (!call.is_bf16() || !call.modify.empty() || !call.reweigh.empty()) return 1.0f;
  const float scale = call.score->dot_scale(call.shape.D).value_or(1.0f);
  return scale > 0 ? scale : 1.0f;
}

void compute_scores(const AttentionCall& call, const Tile& tile, const ScoreOperands& operands, float* s) {
  if (deferred_scale(call) == 1.0f)
    call.score->forward(tile, operands, s);
  else
    multiply_rows(*operands.products, tile, operands.k, operands.q, 1.0f, s);
}

bool has_vnni_alignment(const Tensor& x) {
  bool even = (x.dim(3) <= 1 || x.stride(3) == 1) && reinterpret_cast<uintptr_t>(x.data<bfloat16>()) % 4 == 0;
  for (int axis = 0; axis < 3; ++axis) even = even && (x.dim(axis) == 1 || x.stride(axis) % 2 == 0);
  return even;
}

BlockOperand pack_block(const Tensor& x, const QueryBlock& block, bool with_rows, Scratch& scratch) {
  return x.dtype() == DType::bf16 ? pack_bf16(x, block, with_rows, scratch)
                                  : pack_floats(x, block, with_rows, scratch);
}

KeyPacker::KeyPacker(const AttentionCall& call, const Tensor& x, const KvHead& head, bool with_columns,
                     Scratch& scratch)
    : first_key_(call.part.key),
      S_(x.dim(2)),
      width_(x.dim(3)),
      row_stride_(x.stride(2)),
      with_columns_(with_columns) {
  const int64_t row_head = head.head - call.kv_head();
  if (x.dtype() == DType::f32) {
    floats_ = row_pointer(x, head.batch, row_head, 0);
    return;
  }
  bf16_ = bf16_row_pointer(x, head.batch, row_head, 0);
  if (!with_columns) return;
  // Complete chunks; 16 more units per row, so that rows do not share cache sets.
  const int64_t units = ceil_div(S_, chunk) * (chunk / 2);
  column_width_ = round_to_lanes(width_);
  row_units_ = kernels().bf16->columns_as_rows ? units + 16 : 0;
  columns_ = scratch.floats(row_units_ ? width_ * row_units_ : units * column_width_);
  const int64_t chunks = ceil_div(S_, chunk);
  is_packed_ = reinterpret_cast<uint8_t*>(scratch.floats((chunks + 3) / 4));
  std::fill_n(is_packed_, chunks, uint8_t{0});
}

void KeyPacker::pack_columns(int64_t begin, int64_t end) {
  for (int64_t c = begin / chunk; c * chunk < end; ++c) {
    if (is_packed_[c]) continue;
    is_packed_[c] = 1;
    const int64_t row = c * chunk, count = std::min(chunk, S_ - row);
    const uint16_t* from = bf16_ + row * row_stride_;
    if (row_units_ == 0) {
      kernels().bf16->interleave(from, row_stride_, count, width_, columns_ + row / 2 * column_width_,
                                 column_width_);
      continue;
    }
    Scratch scratch;
    float* interleaved = scratch.floats(chunk / 2 * column_width_);
    kernels().bf16->interleave(from, row_stride_, count, width_, interleaved, column_width_);
    kernels().transpose_in(interleaved, column_width_, (count + 1) / 2, width_, columns_ + row / 2, chunk / 2,
                           row_units_);
  }
}

KeyOperand KeyPacker::at(const Tile& tile) {
  const int64_t key = tile.key - first_key_;
  if (floats_) {
    const float* first = floats_ + key * row_stride_;
    return {.rows = first,
            .row_stride = row_stride_,
            .columns = first,
            .column_stride = 1,
            .key_stride = row_stride_,
            .width = width_};
  }
  if (with_columns_) pack_columns(key, key + tile.keys);
  return {.rows = reinterpret_cast<const float*>(bf16_ + key * row_stride_),
          .row_stride = row_stride_ / 2,
          .columns = with_columns_ ? columns_ + key / 2 * (row_units_ ? 1 : column_width_) : nullptr,
          .column_stride = row_units_ ? row_units_ : 1,
          .key_stride = row_units_ ? 1 : column_width_,
          .width = width_};
}

void prefetch(const Tensor& x, const RowIndex& first, int64_t count, Access access) {
  constexpr int64_t line = 64;
  const char* from = x.dtype() == DType::f32
                         ? reinterpret_cast<const char*>(row_pointer(x, first.batch, first.head, first.row))
                         : reinterpret_cast<const char*>(bf16_row_pointer(x, first.batch, first.head, first.row));
  const int64_t size = size_of(x.dtype()), stride = x.stride(2) * size;
  int64_t bytes = x.dim(3) * size;
  if (stride == bytes) {  // contiguous
    bytes *= count;
    count = 1;
  }
  for (int64_t i = 0; i < count; ++i, from += stride)
    if (access == Access::read)
      for (int64_t at = 0; at < bytes; at += line) __builtin_prefetch(from + at, 0);
    else
      for (int64_t at = 0; at < bytes; at += line) __builtin_prefetch(from + at, 1);
}

WeightPacker::WeightPacker(const AttentionCall& call, const QueryBlock& block, const Roles& roles, Scratch& scratch)
    : is_bf16_(call.is_bf16()) {
  if (!is_bf16_) return;
  if (roles.rows) rows_ = scratch.floats(max_block_keys * block.width / 2);
  if (roles.columns) columns_ = scratch.floats(max_block_keys / 2 * block.width);
}

WeightOperand WeightPacker::pack(const Tile& tile, const float* weights) const {
  if (!is_bf16_)
    return {.tile = weights, .rows = weights, .row_stride = tile.width, .columns = weights, .depth = tile.keys};
  if (rows_) kernels().bf16->round(weights, tile.keys * tile.width, reinterpret_cast<uint16_t*>(rows_));
  if (columns_)
    kernels().bf16->interleave_rounded(weights, tile.width, tile.keys, tile.width, columns_, tile.width);
  return packed(tile, weights);
}

WeightOperand WeightPacker::packed(const Tile& tile, const float* weights) const {
  return {.tile = weights,
          .rows = rows_,
          .row_stride = tile.width / 2,
          .columns = columns_,
          .depth = (tile.keys + 1) / 2};
}

void write_rows(const float* from, int64_t from_stride, int64_t count, float scale, Tensor& x, const RowIndex& to) {
  const int64_t columns = x.dim(3), stride = x.stride(2);
  const auto scaled = kernel::kernels().rows.scale;
  if (x.dtype() == DType::f32) {
    float* out = row_pointer(x, to.batch, to.head, to.row);
    if (from_stride == columns && stride == columns) return scaled(from, scale, count * columns, out);
    for (int64_t i = 0; i < count; ++i) scaled(from + i * from_stride, scale, columns, out + i * stride);
    return;
  }
  Scratch scratch;
  float* row = scratch.floats(columns);
  bfloat16* out = row_pointer<bfloat16>(x, to.batch, to.head, to.row);
  for (int64_t i = 0; i < count; ++i) {
    scaled(from + i * from_stride, scale, columns, row);
    round_row(row, columns, out + i * stride);
  }
}

void write_block(const float* transposed, const QueryBlock& block, const float* scale, Tensor& x) {
  const int64_t columns = x.dim(3);
  if (x.dtype() == DType::f32) {
    kernels().transpose_out(transposed, block.width, block.queries, columns, scale,
                            row_pointer(x, block.batch, block.head, block.query), x.stride(2));
    return;
  }
  Scratch scratch;
  float* packed = scratch.floats(block.queries * columns);
  kernels().transpose_out(transposed, block.width, block.queries, columns, scale, packed, columns);
  bfloat16* out = row_pointer<bfloat16>(x, block.batch, block.head, block.query);
  for (int64_t i = 0; i < block.queries; ++i) round_row(packed + i * columns, columns, out + i * x.stride(2));
}

}  // namespace qkv::internal
