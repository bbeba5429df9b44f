// The end of a text that grows piece by piece: the first occurrence of one of several stop strings. A stop string may
// extend over several pieces, so that text which could be its beginning is held back until it is known.
//
//     StopStrings stops({"\n\n", "Question:"});            // of one text
//     fmt::print("{}", stops.append(piece));               // what may be printed by now
//     if (stops.found()) break;                            // ... or generation ends for another reason:
//     fmt::print("{}", stops.finish());                    // what was held back
//
// The occurrence that ends first counts, and the longest one if several end together: the result does not depend on the
// pieces. text() and what is printed end before it. Printed pieces never end inside a UTF-8 character; bytes that are
// not UTF-8 are printed as they are. A search takes constant time per byte and stop string (Knuth, Morris and Pratt,
// "Fast pattern matching in strings", 1977).
//
// Errors: UsageError for a stop string that is empty or not UTF-8; Error for text after the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

class StopStrings {
 public:
  explicit StopStrings(const std::vector<std::string>& stops = {});

  // The views are valid until the next call.
  std::string_view append(std::string_view piece);
  std::string_view finish();

  bool found() const { return found_.has_value(); }
  std::optional<size_t> index() const { return found_; }  // of the stop string that was found
  // All text, cut before the stop string; before the end, held-back text is included.
  const std::string& text() const { return text_; }
  size_t printed() const { return printed_; }  // bytes of text() that append() and finish() have returned

 private:
  struct Pattern {
    std::string stop;
    std::vector<size_t> border;  // of its first i bytes: the length of the longest proper prefix that is a suffix
    size_t matched = 0;          // length of the longest prefix that the text ends with
  };
  static void advance(Pattern& pattern, char byte);
  std::string_view print_to(size_t end);

  std::vector<Pattern> patterns_;
  std::string text_;
  size_t printed_ = 0;
  std::optional<size_t> found_;
  bool finished_ = false;
};

}  // namespace qkv
