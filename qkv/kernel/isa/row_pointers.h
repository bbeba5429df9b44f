// Addresses of the rows of a tile. Every third row has a pointer of its own; the two after it are reached by one and two strides:
// a pointer for each would not fit the registers for addresses, and move through those of vectors in each step of a loop.
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

template <int rows, class T>
struct RowPointers {
  static constexpr int pointers = (rows + 2) / 3;
  const T* row[pointers];
  int64_t stride;

  __attribute__((always_inline)) RowPointers(const T* first, int64_t row_stride) : stride(row_stride) {
#pragma GCC unroll 16
    for (int i = 0; i < pointers; ++i) row[i] = first + 3 * i * stride;
  }
  // Element k of row r.
  __attribute__((always_inline)) const T* at(int r, int64_t k) const { return row[r / 3] + (r % 3) * stride + k; }
};

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
