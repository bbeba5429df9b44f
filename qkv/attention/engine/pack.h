// Packing of the operands of tile products: floats are mostly read where they are; bf16 is packed into the VNNI
// layout, two numbers interleaved along the summed axis.
#pragma once

#include "qkv/attention/engine/tile_products.h"
#include "qkv/attention/engine/tiles.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"

namespace qkv::internal {

const kernel::TileProducts& products(const AttentionCall& call);

// A thread calls the products only while a TileScope of the call exists on it: AMX needs its tile registers set up.
class TileScope {
 public:
  explicit TileScope(const AttentionCall& call);
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const kernel::FlushDenormals flush_;
  const kernel::Bf16Kernels* bf16_;
};

// The scores of a tile. compute_scores() leaves out the factor deferred_scale(), which the bf16 softmax kernels
// apply while they read the scores; it is 1 for f32, and where a modifier or reweigher needs complete scores.
float deferred_scale(const AttentionCall& call);
void compute_scores(const AttentionCall& call, const Tile& tile, const ScoreOperands& operands, float* s);

// Whether bf16 rows can be read as VNNI units without a copy: every row begins at an even offset.
bool has_vnni_alignment(const Tensor& x);

// The queries of a block of x, (B,H,T,columns), packed; with_rows: also the operand of the backward.
BlockOperand pack_block(const Tensor& x, const QueryBlock& block, bool with_rows, Scratch& scratch);

// A key/value head of the whole call.
struct KvHead {
  int64_t batch, head;
};

// Keys or values of one head, the first of the call's part in row 0 of x. Columns of bf16 are packed when first read, a chunk of rows at a time.
class KeyPacker {
 public:
  KeyPacker(const AttentionCall& call, const Tensor& x, const KvHead& head, bool with_columns, Scratch& scratch);
  KeyOperand at(const Tile& tile);

 private:
  void pack_columns(int64_t begin, int64_t end);

  const uint16_t* bf16_ = nullptr;
  const float* floats_ = nullptr;
  int64_t first_key_, S_, width_, row_stride_;
  bool with_columns_;
  float* columns_ = nullptr;      // (ceil(S/2), column_width_) units
  uint8_t* is_packed_ = nullptr;  // per chunk
  int64_t column_width_ = 0, row_units_ = 0;
};

// A row of a tensor (batch, head, row, column).
struct RowIndex {
  int64_t batch, head, row;
};

// Prefetches some rows. Short sequences end before the hardware prefetcher has found a pattern.
enum class Access { read, write };
void prefetch(const Tensor& x, const RowIndex& first, int64_t count, Access access);

// Packs a tile of weights, or of gradients of scores, for the products that read it along `rows` or `columns`. Has
// memory for one tile of a block.
class WeightPacker {
 public:
  struct Roles {
    bool rows = false, columns = false;
  };
  WeightPacker(const AttentionCall& call, const QueryBlock& block, const Roles& roles, Scratch& scratch);
  WeightOperand pack(const Tile& tile, const float* weights) const;

  // For a kernel that packs by itself: the memory (null for f32), and the operand in it.
  uint16_t* rows() const { return reinterpret_cast<uint16_t*>(rows_); }
  float* columns() const { return columns_; }
  WeightOperand packed(const Tile& tile, const float* weights) const;

 private:
  bool is_bf16_;
  float *rows_ = nullptr, *columns_ = nullptr;
};

// Rows of floats, from_stride apart, times scale, to rows of x: f32 or bf16.
void write_rows(const float* from, int64_t from_stride, int64_t count, float scale, Tensor& x, const RowIndex& to);
// A transposed block (columns, width), query i times scale[i], to rows of x.
void write_block(const float* transposed, const QueryBlock& block, const float* scale, Tensor& x);

}  // namespace qkv::internal
