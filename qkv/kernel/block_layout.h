// How the blocks of each quantised format are packed for products (quantized_kernels.h).
//
// A block is `block` numbers along k of 16 columns. It is packed as, one after another,
//   d           16 halves: the scale of the block
//   minimum     16 halves: the minimum, if has_minimum
//   scales      16 int8 for each group: integer factors of d, if group_scales
//   minimums    16 uint8 for each group: integer factors of minimum, if both
//   low plane   `low` bits of each q; a vector of 64 bytes holds 8 / low steps, from the low bits up
//   high plane  the `high` bits above these, in the same order
//
// A new format is a row of block_layouts; the kernels are compiled for each row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "qkv/kernel/weight_format.h"

namespace qkv::kernel {

inline constexpr int quantized_width = 16;  // columns of a panel
inline constexpr int step_depth = 4;        // numbers along k in a step
inline constexpr int step_bytes = quantized_width * step_depth;
inline constexpr int unit_depth = 32;    // numbers along k that share a scale of the activations
inline constexpr int chunk_depth = 512;  // numbers along k that are unpacked at a time
inline constexpr int max_block = 256, min_group = 16;
inline constexpr int max_groups = max_block / min_group;  // of a block
inline constexpr int64_t chunk_bytes = int64_t{chunk_depth} * quantized_width;
inline constexpr int64_t chunk_scales = int64_t{chunk_depth} / min_group * quantized_width;

struct BlockLayout {
  WeightFormat format = {};
  int block = 0;              // 32 or 256
  int group = 32;             // numbers that share a scale: 16 or 32
  int low = 0, high = 0;      // bits: 8, 4 or 2; 0, 1 or 2
  int zero = 0;               // w = d * scale * (q - zero) - minimum * factor
  bool has_minimum = false;   // never together with low = 8
  bool group_scales = false;  // else a block is one group
  bool has_table = false;     // q is an index into 16 numbers, to which zero = 128 is added

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
  constexpr bool is_wide() const { return low == 8 || has_table; }  // numbers need all 8 bits
};

inline constexpr BlockLayout block_layouts[] = {
    {.format = WeightFormat::q8_0, .block = 32, .low = 8, .zero = 128},
    {.format = WeightFormat::q4_0, .block = 32, .low = 4, .zero = 8},
    {.format = WeightFormat::q4_1, .block = 32, .low = 4, .has_minimum = true},
    {.format = WeightFormat::q5_0, .block = 32, .low = 4, .high = 1, .zero = 16},
    {.format = WeightFormat::q5_1, .block = 32, .low = 4, .high = 1, .has_minimum = true},
    {.format = WeightFormat::iq4_nl, .block = 32, .low = 4, .zero = 128, .has_table = true},
    {.format = WeightFormat::iq4_xs, .block = 256, .low = 4, .zero = 128, .group_scales = true, .has_table = true},
    {.format = WeightFormat::q2_k, .block = 256, .group = 16, .low = 2, .has_minimum = true, .group_scales = true},
    {.format = WeightFormat::q3_k, .block = 256, .group = 16, .low = 2, .high = 1, .zero = 4, .group_scales = true},
    {.format = WeightFormat::q4_k, .block = 256, .low = 4, .has_minimum = true, .group_scales = true},
    {.format = WeightFormat::q5_k, .block = 256, .low = 4, .high = 1, .has_minimum = true, .group_scales = true},
    {.format = WeightFormat::q6_k,
     .block = 256,
     .group = 16,
     .low = 4,
     .high = 2,
     .zero = 32,
     .group_scales = true},
};
constexpr const BlockLayout& layout_of(WeightFormat format) {  // of a format of blocks
  size_t i = 0;
  while (block_layouts[i].format != format) ++i;
  return block_layouts[i];
}
inline constexpr size_t block_layout_count = sizeof(block_layouts) / sizeof(block_layouts[0]);

// The numbers of iq4_nl: denser near zero, as weights are. Not symmetric, and without zero.
inline constexpr int8_t iq4_nl_table[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                            1,    13,   25,  38,  53,  69,  89,  113};

}  // namespace qkv::kernel
