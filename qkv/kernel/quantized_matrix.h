// A weight matrix (N,K) as integers with scales, packed for products (quantized_kernels.h):
//
//     PackedMatrix w = pack_int8({weight, out, in});                        // from floats: a scale for each row
//     PackedMatrix w = pack_blocks(stored_format(f), rows, row_stride, out, in);  // from blocks, as files store them
//
// int8: w = scale * i with i in [-127, 127] and scale = max |w| / 127 of the row; the nearest integer, ties to even.
//
// Activations are quantised row by row, in the same way: for int8 with one scale, for blocks with one for each 32
// numbers. An element of a product has the same bits on every instruction set and for any other rows. A row of
// activations with a number that is not finite gives NaN, so that no wrong number looks right.
#pragma once

#include "qkv/kernel/format/stored_format.h"
#include "qkv/kernel/matmul.h"
#include "qkv/kernel/quantized_kernels.h"

namespace qkv::kernel {

// w has column_stride 1 and finite numbers.
PackedMatrix pack_int8(Matrix w);
// From rows that exist one at a time: row(n, numbers) writes the K numbers of row n and returns its scale. It is called by several
// threads.
PackedMatrix pack_int8(int64_t N, int64_t K, FunctionRef<float(int64_t n, int8_t* numbers)> row);
// A row of int8 as it is stored: K numbers, then the scale.
PackedMatrix pack_int8_rows(const uint8_t* rows, int64_t row_stride, int64_t N, int64_t K);
// K is a multiple of the block.
PackedMatrix pack_blocks(const StoredFormat& format, const uint8_t* rows, int64_t row_stride, int64_t N, int64_t K);

}  // namespace qkv::kernel
