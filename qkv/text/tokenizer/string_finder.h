// Finds which of a set of strings begins at each byte of a text, in time that is linear in the text for any strings
// (Aho and Corasick, "Efficient string matching", 1975).
//
//     const StringFinder finder({"ab", "abc", "b"});
//     finder.longest("abcb")                                 // {1, 2, -1, 2}: indices of the longest ones, -1 for none
//
// The last of equal strings counts. Empty strings are never found.
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

  // The text is read from its end, with a tree of the reversed strings. Each node has the node of its longest proper
  // suffix in the tree, and the longest string of the set that begins there.
  PrefixTree tree_;
  std::vector<int32_t> shorter_, found_;
};

}  // namespace qkv
