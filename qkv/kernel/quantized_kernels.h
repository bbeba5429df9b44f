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

namespace qkv::kernel {

inline constexpr int quantized_width = 16;  // columns of a panel
inline constexpr int step_depth = 4;        // numbers along k in a step
inline constexpr int step_bytes = quantized_width * step_depth;
inline constexpr int scale_depth = 32;   // activations that share a scale in products of blocks
inline constexpr int chunk_depth = 256;  // numbers along k that are unpacked at a time
inline constexpr int min_group = 16;
inline constexpr int max_groups = chunk_depth / min_group;  // of a block

// How a block of `block` numbers along k of 16 columns is packed: one after another
//   d           16 halves: the scale of the block
//   minimum     16 halves: the minimum, if has_minimum
//   scales      16 int8 for each group: integer factors of d, if group_scales
//   minimums    16 uint8 for each group: integer factors of minimum, if both
//   low plane   `low` bits of each q; a vector of 64 bytes holds 8 / low steps, from the low bits up
//   high plane  the `high` bits above these, in the same order
struct BlockLayout {
  int block;                      // 32 or 256
  int group;                      // 16 or 32
  int low, high;                  // bits: 8, 4 or 2; 0, 1 or 2
  int zero;                       // a power of two, or 0
  bool has_minimum;               // never together with low = 8
  bool group_scales;              // else a block is one group
  const int8_t* table = nullptr;  // q is an index into these 16 numbers, to which zero = 128 is added

  constexpr int groups() const { return block / group; }
  constexpr int steps() const { return block / step_depth; }
  constexpr int minimum_at() const { return 2 * quantized_width; }
  constexpr int scales_at() const { return minimum_at() + (has_minimum ? 2 * quantized_width : 0); }
  constexpr int minimums_at() const { return scales_at() + (group_scales ? groups() * quantized_width : 0); }
  constexpr int low_at() const {
    return minimums_at() + (group_scales && has_minimum ? groups() * quantized_width : 0);
  }
  constexpr int high_at() const { return low_at() + steps() * step_bytes * low / 8; }
  constexpr int bytes() const { return high_at() + steps() * step_bytes * high / 8; }
  // Numbers may need all 8 bits.
  constexpr bool is_wide() const { return low == 8 || table != nullptr; }
};

// A chunk of a panel, unpacked.
struct UnpackedChunk {
  uint8_t* numbers;  // a step after another
  float* scales;     // 16 for each group
  float* minimums;   // the same, negated; null in a product without minimums
};

// Rows of activations, quantised; row r begins at r times the stride.
struct QuantizedRows {
  int8_t* numbers;
  int64_t stride;
  float* scales;  // of each scale_depth numbers, or one
  int64_t scale_stride;
  int32_t* offsets;  // of each group: -zero times the sum of its numbers
  float* sums;       // of each group: the sum of its numbers times their scale
  int64_t group_stride;
};

// Where a product goes: c (rows x columns), columns <= 16.
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
  const uint8_t* panel;  // numbers + 128
  const float* scales;   // 16
  QuantizedResult result;
};

struct BlockProduct {
  QuantizedRows a;  // from the chunk's first number on
  int64_t rows, groups;
  UnpackedChunk chunk;
  float* totals;     // rows x 16: of the chunks before, and where to add
  bool first, last;  // chunk: totals start at 0; the result is written
  QuantizedResult result;
};

struct QuantizedKernels {
  // Quantises one row of `count` numbers; those up to a multiple of `depth`, the numbers that share a scale, are zero.
  // depth is a multiple of 32; group divides it. A scale of numbers that are not finite is NaN.
  void (*quantize)(const float* x, int64_t count, int64_t depth, int group, int zero, int8_t* numbers,
                   float* scales, int32_t* offsets, float* sums);
  void (*multiply_int8)(const Int8Product& product);
  // blocks of a panel, one after another in memory
  void (*unpack)(const BlockLayout& layout, const uint8_t* blocks, int64_t count, const UnpackedChunk& to);
  void (*multiply_blocks)(const BlockLayout& layout, const BlockProduct& product);
};

}  // namespace qkv::kernel
