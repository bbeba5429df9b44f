// Products of two rows at a time by aarch64's instruction for two rows by two columns of eight bytes (smmla): four times the
// products of one for bytes of one row.
//
//     RowPairs<rows> pairs;
//     for (; s + 2 <= steps; s += 2) add_two_steps(x, stride, weights, pairs);
//     add_row_pairs(pairs, sums);
#pragma once

#include "qkv/kernel/isa/quantized/columns.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

#if defined(__ARM_FEATURE_MATMUL_INT8)
constexpr bool multiplies_row_pairs = true;

// Sums of two rows and two columns: columns 4p and 4p + 1, and the two after them.
template <int rows>
struct RowPairs {
  vi squares[rows / 2][parts][2] = {};
};

// x: the numbers of both steps, of row 0; weights(s, p): part p of step s, as weights_of_step() gives it.
template <int rows, class Weights>
QKV_INLINE void add_two_steps(const int8_t* x, int64_t stride, Weights weights, RowPairs<rows>& sums) {
  int8x16_t pairs[rows / 2];
#pragma GCC unroll 4
  for (int r = 0; r < rows / 2; ++r)
    pairs[r] = vcombine_s8(vld1_s8(x + 2 * r * stride), vld1_s8(x + (2 * r + 1) * stride));
#pragma GCC unroll 4
  for (int p = 0; p < parts; ++p) {
    const vf first = reinterpret_cast<vf>(weights(0, p).w), second = reinterpret_cast<vf>(weights(1, p).w);
    const vf columns[2] = {zip_low(first, second), zip_high(first, second)};
#pragma GCC unroll 4
    for (int r = 0; r < rows / 2; ++r)
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i) {
        vi& sum = sums.squares[r][p][i];
        sum = reinterpret_cast<vi>(
            vmmlaq_s32(reinterpret_cast<int32x4_t>(sum), pairs[r], reinterpret_cast<int8x16_t>(columns[i])));
      }
  }
}

template <int rows>
QKV_INLINE void add_row_pairs(const RowPairs<rows>& pairs, vi (&sums)[rows][parts]) {
#pragma GCC unroll 4
  for (int r = 0; r < rows / 2; ++r)
#pragma GCC unroll 4
    for (int p = 0; p < parts; ++p) {
      const vi first = pairs.squares[r][p][0], second = pairs.squares[r][p][1];
      sums[2 * r][p] += __builtin_shufflevector(first, second, 0, 1, 4, 5);
      sums[2 * r + 1][p] += __builtin_shufflevector(first, second, 2, 3, 6, 7);
    }
}
#else
constexpr bool multiplies_row_pairs = false;
template <int rows>
struct RowPairs;
#endif

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
