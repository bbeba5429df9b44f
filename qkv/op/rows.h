// For row-wise ops: parallel loops over the rows of a tensor, and sums over rows in an order that does not depend
// on the number of threads.
#pragma once

#include <algorithm>

#include "qkv/base/threads.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

// About 64 KiB per piece: enough work for a thread, small enough for a cache.
inline int64_t rows_per_piece(int64_t width) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)); }

// Calls each(row) for all rows of a given width.
template <class Each>
void for_each_row(int64_t rows, int64_t width, Each each) {
  parallel_ranges(rows, rows_per_piece(width), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) each(row);
  });
}

// Calls range(begin, end) for n elements, cut at multiples of 16384.
template <class Range>
void for_each_range(int64_t n, Range range) {
  parallel_ranges(n, 16384, range);
}

// Sums over rows: accumulate(begin, end, sums) adds rows [begin, end) to `width` sums. The rows are cut into at
// most 64 pieces, depending only on their number; the sums of the pieces are added in order.
Tensor sum_over_rows(int64_t rows, int64_t width, FunctionRef<void(int64_t, int64_t, float*)> accumulate);

// The sum of the rows of x, reshaped to (rows, width): shape (width).
Tensor sum_rows(const Tensor& x, int64_t width);

}  // namespace qkv
