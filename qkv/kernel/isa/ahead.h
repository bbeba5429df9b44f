// What is fetched from memory while a tile of a product is computed, so that memory and arithmetic are busy at the same time:
// left to itself, the processor waits for the weights of a panel in its first tile and leaves memory idle in the others.
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

constexpr int64_t cache_line = 64;

// The part of some bytes that one of the tiles of a panel fetches, with an equal number of them in every step of its loop.
struct Ahead {
  const char* part;
  int64_t bytes_of_step;
};

// The part of tile rows [row, row + rows) of all_rows, if all fetch `steps` times `bytes` from `next`.
QKV_INLINE Ahead ahead_of_tile(const void* next, int64_t steps, int64_t bytes, int64_t row, int64_t rows,
                               int64_t all_rows) {
  return {static_cast<const char*>(next) + steps * bytes * row / all_rows, bytes * rows / all_rows};
}

// To the second-level cache: the lines `count` of a step, at equal distances.
template <int count = 1>
QKV_INLINE void fetch(Ahead ahead, int64_t step) {
#pragma GCC unroll 8
  for (int i = 0; i < count; ++i)
    __builtin_prefetch(ahead.part + step * ahead.bytes_of_step + ahead.bytes_of_step * i / count, 0, 2);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
