// The tables behind unicode.h, sorted by first code point. Not for anybody else.
#pragma once

#include <cstdint>
#include <span>

namespace qkv::unicode {

struct Range {
  uint32_t first, last;  // both included
};
extern const std::span<const Range> punctuation, number, symbol;

// The code points first, first + step, ..., last have the small letter code point + shift.
struct Lower {
  uint32_t first, last, step;
  int32_t shift;
};
extern const std::span<const Lower> lower;

}  // namespace qkv::unicode
