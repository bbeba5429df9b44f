#include "qkv/text/tokenizer/prefix_tree.h"

#include <algorithm>
#include <numeric>

namespace qkv {

// Breadth first over the sorted strings: those of a node are adjacent, and so are its children.
PrefixTree::PrefixTree(const std::vector<std::string>& strings) {
  std::vector<int32_t> order(strings.size());
  std::iota(order.begin(), order.end(), 0);
  const auto text = [&](size_t i) -> const std::string& { return strings[static_cast<size_t>(order[i])]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return strings[static_cast<size_t>(a)] < strings[static_cast<size_t>(b)];
  });
  struct Range {
    size_t begin, end, depth;  // of `order`; the bytes that they have in common
  };
  std::vector<Range> ranges = {{0, order.size(), 0}};  // of the nodes
  nodes_.emplace_back();
  for (size_t n = 0; n < nodes_.size(); ++n) {
    auto [at, end, depth] = ranges[n];
    for (; at < end && text(at).size() == depth; ++at)
      if (depth > 0) nodes_[n].index = order[at];
    nodes_[n].first = static_cast<int32_t>(nodes_.size());
    while (at < end) {
      const char byte = text(at)[depth];
      size_t next = at;
      while (next < end && text(next)[depth] == byte) ++next;
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ranges.push_back({at, next, depth + 1});
      ++nodes_[n].count;
      at = next;
    }
  }
}

}  // namespace qkv
