// What is fetched from memory while a tile of a product is computed, so that memory and arithmetic are busy at the same time:
// left to itself, the processor waits for the weights of a panel in its first tile and leaves memory idle in the others.
#pragma once

#include "qkv/kernel/isa/vector.h"

namespace qkv::kernel::QKV_ISA_NAMESPACE {

constexpr int64_t cache_line = 64;

// The bytes that one of the tiles of a panel fetches: equally many in each of its first `steps` steps.
struct Ahead {
  const char* part = nullptr;
  int64_t steps = 0, bytes_of_step = 0;
};

// What the tile of rows [row, row + rows) fetches, `share` bytes for each, in a loop of `steps` steps, `lines` lines in a step. Few
// tiles fetch in every step, which keeps memory evenly busy. Where many share a panel, each fetches its few lines in its first
// steps: an instruction that prefetches takes the place of one that multiplies. Divisions take as long as a step or two of
// the loop over the depth, so the share is computed once for all tiles.
QKV_INLINE Ahead ahead_of_tile(const void* from, int64_t steps, int lines, int64_t share, int64_t row,
                               int64_t rows) {
  const char* const part = static_cast<const char*>(from) + row * share;
  const int64_t bytes = rows * share, needed = bytes / (lines * cache_line) + 1;
  if (needed < steps / 8) return {part, needed, lines * cache_line};
  return {part, steps, steps > 0 ? bytes / steps : 0};
}

// To the second-level cache: the lines of a step, at equal distances; nothing after the steps that fetch.
template <int lines = 1>
QKV_INLINE void fetch(const Ahead& ahead, int64_t step) {
  if (step >= ahead.steps) return;
#pragma GCC unroll 8
  for (int i = 0; i < lines; ++i)
    __builtin_prefetch(ahead.part + step * ahead.bytes_of_step + ahead.bytes_of_step * i / lines, 0, 2);
}

// Where a panel has one or two tiles, the time is that of memory, and the first tile fetches what it reads itself: the lines of
// `bytes` as far behind `at` as memory takes to answer, to the first-level cache.
template <int64_t bytes>
QKV_INLINE void fetch_near(const void* at) {
  constexpr int64_t distance = 8192;
#pragma GCC unroll 8
  for (int64_t line = 0; line < bytes; line += cache_line)
    __builtin_prefetch(static_cast<const char*>(at) + distance + line);
}

}  // namespace qkv::kernel::QKV_ISA_NAMESPACE
