// Internal: the tables of unicode.h, sorted by first code point.
#pragma once

#include <cstdint>
#include <span>

namespace qkv::unicode {

struct Range {
  uint32_t first, last;  // both included
};
extern const std::span<const Range> punctuation, number, symbol;

// The code points first, first + step, ..., last have the lower-case letter code point + shift.
struct Lower {
  uint32_t first, last, step;
  int32_t shift;
};
extern const std::span<const Lower> lower;

}  // namespace qkv::unicode
