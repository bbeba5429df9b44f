// Occurrences of one text in another, in time that is linear in both whatever they are (Knuth, Morris and Pratt, 1977).
//
//     TextFinder finder(heap, ", ");
//     finder.find("a, b, c")           // 1
//     finder.split("a, b, c", -1)      // "a", "b", "c"
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "qkv/text/chat_template/heap.h"

namespace qkv::jinja {

class TextFinder {
 public:
  enum class Direction { forward, backward };
  TextFinder(Heap& heap, std::string_view part, Direction direction = Direction::forward);

  // The byte at which the first occurrence, or the last one, begins.
  std::optional<size_t> find(std::string_view text) const;
  // The text between at most `limit` occurrences that do not overlap (below 0: all); `part` is not empty.
  std::vector<std::string_view> split(std::string_view text, int64_t limit) const;

 private:
  char at(std::string_view text, size_t i) const {
    return direction_ == Direction::forward ? text[i] : text[text.size() - 1 - i];
  }

  Heap& heap_;
  std::string_view part_;
  Direction direction_;
  std::vector<size_t> border_;  // of every prefix of the part, the longest proper prefix that also ends it
};

}  // namespace qkv::jinja
