// Which of a set of strings begins at each byte of a text, in time that is linear in the text, whatever the strings are (Aho and
// Corasick, "Efficient string matching", 1975).
//
//     const StringFinder finder({"ab", "abc", "b"});
//     finder.longest("abcb")                                         // {1, 2, -1, 2}: indices of the longest ones, -1 for none
//
// Equal strings: the last one counts. Empty ones are nowhere.
#pragma once

#include "qkv/text/tokenizer/prefix_tree.h"

namespace qkv {

class StringFinder {
 public:
  StringFinder() = default;
  explicit StringFinder(const std::vector<std::string>& strings);

  std::vector<int32_t> longest(std::string_view text) const;

 private:
  int32_t next(int32_t node, unsigned char byte) const;

  // The text is read from its end, by a tree of the reversed strings. Of each node: that of the longest other string which ends with
  // the byte that was read last and is in the tree, and the longest one of the set that begins there.
  PrefixTree tree_;
  std::vector<int32_t> shorter_, found_;
};

}  // namespace qkv
