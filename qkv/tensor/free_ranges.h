// Ranges of memory that are free, joined where they touch. The end of the smallest range that suffices is taken (best fit):
// in training steps, whose tensors have many sizes, what lies unused between them is a few percent. The end, since systems
// map new memory below what they mapped last: what is left of a range lies beside it.
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
  Range take_largest();                              // of no bytes if none is free
  int64_t bytes_from(const std::byte* begin) const;  // of the range that begins there; 0 if none does

  // Allocates nothing where reserve() has announced it.
  void give(Range range);
  void reserve(size_t ranges_to_be_given);

 private:
  std::vector<Range> ranges_;  // by address
};

}  // namespace qkv
