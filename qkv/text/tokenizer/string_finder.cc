#include "qkv/text/tokenizer/string_finder.h"

namespace qkv {
namespace {

std::vector<std::string> reversed(const std::vector<std::string>& strings) {
  std::vector<std::string> out;
  out.reserve(strings.size());
  for (const std::string& text : strings) out.emplace_back(text.rbegin(), text.rend());
  return out;
}

}  // namespace

// Nodes are numbered breadth first, so those of shorter strings are complete.
StringFinder::StringFinder(const std::vector<std::string>& strings)
    : tree_(reversed(strings)), shorter_(tree_.nodes()), found_(tree_.nodes(), -1) {
  for (int32_t node = 0; node < std::ssize(found_); ++node)
    tree_.for_each_child(node, [&](int32_t child, unsigned char byte) {
      const auto at = static_cast<size_t>(child);
      shorter_[at] = node == 0 ? 0 : next(shorter_[static_cast<size_t>(node)], byte);
      const int32_t whole = tree_.index(child);
      found_[at] = whole >= 0 ? whole : found_[static_cast<size_t>(shorter_[at])];
    });
}

int32_t StringFinder::next(int32_t node, unsigned char byte) const {
  for (;; node = shorter_[static_cast<size_t>(node)]) {
    const int32_t child = tree_.child(node, byte);
    if (child >= 0) return child;
    if (node == 0) return 0;
  }
}

std::vector<int32_t> StringFinder::longest(std::string_view text) const {
  std::vector<int32_t> out(text.size(), -1);
  if (found_.size() < 2) return out;
  int32_t node = 0;
  for (size_t at = text.size(); at-- > 0;) {
    node = next(node, static_cast<unsigned char>(text[at]));
    out[at] = found_[static_cast<size_t>(node)];
  }
  return out;
}

}  // namespace qkv
