// The number formats of a weight matrix. The rows of one are blocks of adjacent numbers, each a few bytes that are
// decoded together; formats of one number each have no blocks.
//
// | format                       | a number                                                 | bits    |
// | f32                          | a float                                                  | 32      |
// | bf16                         | the upper half of a float                                | 16      |
// | int8                         | -127 to 127, times a float of its row                    | 8       |
// | q8_0, q5_0, q4_0             | an integer times the f16 scale of its block of 32        | 8.5-4.5 |
// | q5_1, q4_1                   | the same, plus an f16 minimum                            | 6-5     |
// | q6_k, q5_k, q4_k, q3_k, q2_k | blocks of 256, whose parts have integer scales (K-quants) | 6.6-2.6 |
// | iq4_nl                       | a number of a table of 16, times the f16 scale of 32     | 4.5     |
// | iq4_xs                       | the same in blocks of 256, whose parts have integer scales | 4.3   |
//
// Matrices are held packed and multiplied (matmul.h): f32 by floats in one chain of multiply-adds; bf16 by the same chain,
// since a bf16 is widened to a float in registers; the others by sums of integers (quantized_kernels.h). The formats of
// blocks, those of GGUF files, are decoded and encoded by format/stored_format.h.
//
// A new format of blocks is a row here with its name and size, its layout in block_layout.h, and a file in format/.
#pragma once

#include <array>
#include <cstdint>

#include "qkv/base/names.h"

namespace qkv {

enum class WeightFormat : uint8_t {
  f32,
  bf16,
  int8,
  q8_0,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs
};

constexpr auto names_of(WeightFormat) {
  using enum WeightFormat;
  return std::array{Named{f32, "f32"},   Named{bf16, "bf16"},     Named{int8, "int8"},    Named{q8_0, "q8_0"},
                    Named{q4_0, "q4_0"}, Named{q4_1, "q4_1"},     Named{q5_0, "q5_0"},    Named{q5_1, "q5_1"},
                    Named{q2_k, "q2_k"}, Named{q3_k, "q3_k"},     Named{q4_k, "q4_k"},    Named{q5_k, "q5_k"},
                    Named{q6_k, "q6_k"}, Named{iq4_nl, "iq4_nl"}, Named{iq4_xs, "iq4_xs"}};
}
// The numbers of a block and their bytes. A format without blocks has blocks of one number.
struct WeightBlock {
  int numbers = 1, bytes = 4;
};
constexpr WeightBlock block_of(WeightFormat format) {
  switch (format) {
    case WeightFormat::f32: return {1, 4};
    case WeightFormat::bf16: return {1, 2};
    case WeightFormat::int8: return {1, 1};
    case WeightFormat::q8_0: return {32, 34};
    case WeightFormat::q4_0: return {32, 18};
    case WeightFormat::q4_1: return {32, 20};
    case WeightFormat::q5_0: return {32, 22};
    case WeightFormat::q5_1: return {32, 24};
    case WeightFormat::q2_k: return {256, 84};
    case WeightFormat::q3_k: return {256, 110};
    case WeightFormat::q4_k: return {256, 144};
    case WeightFormat::q5_k: return {256, 176};
    case WeightFormat::q6_k: return {256, 210};
    case WeightFormat::iq4_nl: return {32, 18};
    case WeightFormat::iq4_xs: return {256, 136};
  }
  return {};
}

// Rows as files hold them: whole blocks; for int8 the numbers, then the scale as a float.
constexpr int64_t row_bytes(WeightFormat format, int64_t K) {
  const WeightBlock block = block_of(format);
  return K / block.numbers * block.bytes + (format == WeightFormat::int8 ? 4 : 0);
}

constexpr bool is_quantized(WeightFormat format) {
  return format != WeightFormat::f32 && format != WeightFormat::bf16;
}

// Of a weight of so many numbers, without the scales of int8 rows.
constexpr int64_t bytes_of(WeightFormat format, int64_t numbers) {
  const WeightBlock block = block_of(format);
  return numbers / block.numbers * block.bytes;
}

}  // namespace qkv
