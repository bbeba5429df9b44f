// Packing the operands of a tile's products: nothing to do for most floats; bf16 are paired along the axis that is
// summed over.
#pragma once

#include "qkv/attention/engine/tiles.h"
#include "qkv/base/scratch.h"
#include "qkv/kernel/kernels.h"

namespace qkv {

const kernel::TileProducts& products(const AttentionCall& call);

// While one lives, its thread computes tiles: it may call the products.
class TileScope {
 public:
  explicit TileScope(const AttentionCall& call);
  ~TileScope();
  TileScope(const TileScope&) = delete;
  TileScope& operator=(const TileScope&) = delete;

 private:
  const kernel::FlushDenormals flush_;
  const kernel::Bf16Kernels* pairs_;
};

// The scores of a tile. The scale of dot products of bf16 may wait for a softmax that reads every score anyway:
// deferred_scale() is the factor that scores() then leaves out, or 1.
float deferred_scale(const AttentionCall& call);
void scores(const AttentionCall& call, const Tile& tile, const ScoreOperands& operands, float* s);

// Whether rows of so many columns can be read as pairs of bf16, and whether those of x can where they lie: rows
// that begin at even places.
bool fits_pairs(int64_t columns);
bool lies_in_pairs(const Tensor& x);

// Rows of x, (B,H,T,columns), as the block of a product; as rows too, if a backward wants them.
BlockOperand pack_block(const Tensor& x, const QueryBlock& block, bool with_rows, Scratch& scratch);

// Keys or values of one head. Columns of bf16 are paired when first asked for, some rows at a time.
class KeyOperands {
 public:
  KeyOperands(const Tensor& x, int64_t batch, int64_t head, bool with_columns, Scratch& scratch);
  KeyOperand at(const Tile& tile);

 private:
  void pack_columns(int64_t begin, int64_t end);

  const uint16_t* halves_ = nullptr;  // bf16
  const float* floats_ = nullptr;
  int64_t S_, width_, row_stride_;
  bool with_columns_;
  float* columns_ = nullptr;   // (ceil(S/2), column_width_) units
  uint8_t* packed_ = nullptr;  // which chunks are
  int64_t column_width_ = 0, row_units_ = 0;
};

// A row of a tensor (batch, head, row, column).
struct RowPlace {
  int64_t batch, head, row;
};

// Asks memory for some rows before they are read or written. For short sequences: such a head is gone before the
// processor has noticed a pattern.
enum class Access { read, write };
void prefetch(const Tensor& x, const RowPlace& place, int64_t count, Access access);

// A tile of weights, or of gradients of scores, in the roles that are wanted. Memory for one tile of a block.
class WeightPacker {
 public:
  struct Roles {
    bool rows = false, columns = false;
  };
  WeightPacker(const AttentionCall& call, const QueryBlock& block, const Roles& roles, Scratch& scratch);
  WeightOperand pack(const Tile& tile, const float* weights) const;

  // Where somebody else packs: the memory, and what stands in it. Null for floats.
  uint16_t* rows() const { return reinterpret_cast<uint16_t*>(rows_); }
  float* columns() const { return columns_; }
  WeightOperand packed(const Tile& tile, const float* weights) const;

 private:
  bool pairs_;
  float *rows_ = nullptr, *columns_ = nullptr;
};

// Rows of floats, from_stride apart, times scale, to rows of x: f32 or bf16.
void write_rows(const float* from, int64_t from_stride, int64_t count, float scale, Tensor& x, const RowPlace& to);
// A transposed block (columns, width), query i times scale[i], to rows of x.
void write_block(const float* transposed, const QueryBlock& block, const float* scale, Tensor& x);

}  // namespace qkv
