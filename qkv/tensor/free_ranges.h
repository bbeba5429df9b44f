// Ranges of memory that are free, joined where they touch. A part of the smallest range that suffices is taken (best
// fit): in training steps, whose tensors have many sizes, what lies unused between them is a few percent.
//
//     ranges.give({memory, 64 << 20});
//     std::byte* block = ranges.take(1 << 20);         // null if none is as large
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qkv {

class FreeRanges {
 public:
  struct Range {
    std::byte* begin = nullptr;
    int64_t bytes = 0;
    std::byte* end() const { return begin + bytes; }
  };

  std::byte* take(int64_t bytes);
  Range take_largest();  // of no bytes if none is free

  // Allocates nothing where reserve() has announced it.
  void give(Range range);
  void reserve(size_t ranges_to_be_given);

 private:
  std::vector<Range> ranges_;  // by address
};

}  // namespace qkv
