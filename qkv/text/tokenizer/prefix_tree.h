// A set of strings that finds those that a text begins with.
//
//     const PrefixTree tree({"a", "ab", "abc"});
//     tree.for_each_prefix("abd", [](int32_t index, size_t bytes) { ... });                 // (0, 1), (1, 2)
//
// The last of equal strings counts. Empty strings are ignored.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace qkv {

class PrefixTree {
 public:
  PrefixTree() = default;
  explicit PrefixTree(const std::vector<std::string>& strings);

  template <class Function>
  void for_each_prefix(std::string_view text, Function function) const {
    if (nodes_.empty()) return;
    int32_t node = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      node = child(node, static_cast<unsigned char>(text[i]));
      if (node < 0) return;
      if (const int32_t found = index(node); found >= 0) function(found, i + 1);
    }
  }

  // Node by node, from 0 on, breadth first: the string that ends at a node, or -1; the node after a byte, or -1.
  size_t nodes() const { return nodes_.size(); }
  int32_t index(int32_t node) const { return nodes_[static_cast<size_t>(node)].index; }
  int32_t child(int32_t node, unsigned char byte) const {
    const Node& parent = nodes_[static_cast<size_t>(node)];
    int32_t low = parent.first, high = parent.first + parent.count;
    while (low < high) {
      const int32_t middle = (low + high) / 2;
      if (nodes_[static_cast<size_t>(middle)].byte < byte)
        low = middle + 1;
      else
        high = middle;
    }
    return low < parent.first + parent.count && nodes_[static_cast<size_t>(low)].byte == byte ? low : -1;
  }
  template <class Function>
  void for_each_child(int32_t node, Function function) const {
    const Node& parent = nodes_[static_cast<size_t>(node)];
    for (int32_t child = parent.first; child < parent.first + parent.count; ++child)
      function(child, nodes_[static_cast<size_t>(child)].byte);
  }

 private:
  struct Node {
    int32_t first = 0, count = 0;  // its children, which are adjacent and in the order of their bytes
    int32_t index = -1;
    unsigned char byte = 0;
  };
  std::vector<Node> nodes_;
};

}  // namespace qkv
