// The kernels of products by quantised weights. Callers use matmul.h.
//
// A weight is integers of few bits with scales: w = scale * (q - zero) - minimum, where q is at least 0. A row of
// activations is quantised too, x = x_scale * i with i in [-127, 127], so a product is a sum of integers, which is exact:
//
//     y = sum over groups of  x_scale * scale * (sum of i * q - zero * sum of i)  -  x_scale * minimum * sum of i
//
// A group is the 16 or 32 numbers along k that share a scale, or a whole row (int8). Sums of integers do not depend on
// their order, and the floats of a group are combined by one chain of multiply-adds over the groups: so an element has
// the same bits on every instruction set, for any neighbors.
//
// Weights are packed into panels of 16 columns. Four numbers of a column along k stand side by side, 64 bytes for a
// step of four k: the operands of the instructions for products of bytes. Fewer than 8 bits are unpacked to bytes,
// a chunk of a panel at a time, which stays in the first-level cache.
#pragma once

#include <cstdint>

#include "qkv/kernel/block_layout.h"

namespace qkv::kernel {

// A chunk of a panel, unpacked. That of a second panel follows after chunk_bytes numbers and chunk_scales scales.
struct UnpackedChunk {
  uint8_t* numbers;  // a step after another
  float* scales;     // 16 for each group
  float* minimums;   // the same, negated

  UnpackedChunk of_panel(int64_t i) const {
    return {numbers + i * chunk_bytes, scales + i * chunk_scales, minimums + i * chunk_scales};
  }
};

// Rows of activations, quantised. The numbers of row r begin at r times their stride. What groups have is stored for all rows
// of a group side by side, so that one address is enough for those of a tile.
struct QuantizedRows {
  int8_t* numbers;
  int64_t stride;
  float* scales;         // of each unit_depth numbers, or one
  int32_t* offsets;      // of each group: -zero times the sum of its numbers
  float* sums;           // of each group: the sum of its numbers times their scale
  int64_t group_stride;  // of scales, offsets and sums, from a group to the next: the number of rows
};

// Where a product goes: c (rows x columns), columns <= 16 unless said otherwise.
struct QuantizedResult {
  float* c;
  int64_t row_stride;
  int64_t columns;
  bool accumulate;
  const float* bias;
  bool relu;
};

struct Int8Product {
  QuantizedRows a;
  int64_t rows, steps;
  const uint8_t* panels;   // one after another: numbers + 128 of all steps, then 16 scales
  QuantizedResult result;  // columns: of all panels
};

// Few rows by a whole panel, whose numbers are unpacked in registers.
struct PanelOfBlocksProduct {
  QuantizedRows a;
  int64_t rows;          // a few: few_rows at a time
  const uint8_t* panel;  // blocks, one after another
  int64_t blocks;
  QuantizedResult result;
};
inline constexpr int few_rows = 4;

// Any number of rows by a chunk of one panel or of more side by side, unpacked.
struct ChunkProduct {
  QuantizedRows a;  // from the chunk's first number on
  int64_t rows, blocks, panels;
  UnpackedChunk chunk;
  float* totals;        // rows x 16 panels: of the chunks before, and where to add
  bool first, last;     // chunk: totals start at 0; the result is written
  const uint8_t* next;  // the blocks of the next chunk
  int64_t next_stride;  // from those of a panel to those of the next
  QuantizedResult result;
};

// The kernels of one layout.
struct BlockKernels {
  void (*multiply_few)(const PanelOfBlocksProduct& product);
  void (*unpack)(const uint8_t* blocks, int64_t count, const UnpackedChunk& to);
  void (*multiply_chunk)(const ChunkProduct& product);
  int64_t panels_of_chunk;  // at most; one or two
};

struct QuantizedKernels {
  // Quantises one row of `count` numbers; those up to a multiple of `depth`, the numbers that share a scale, are zero.
  // depth is a multiple of 32; group divides it. A scale of numbers that are not finite is NaN. group_stride: as in
  // QuantizedRows.
  void (*quantize)(const float* x, int64_t count, int64_t depth, int group, int zero, int8_t* numbers,
                   float* scales, int32_t* offsets, float* sums, int64_t group_stride);
  void (*multiply_int8)(const Int8Product& product);
  const BlockKernels* blocks;  // of block_layouts[i]
};

}  // namespace qkv::kernel
