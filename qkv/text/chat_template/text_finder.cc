#include "qkv/text/chat_template/text_finder.h"

#include <algorithm>

namespace qkv::jinja {

TextFinder::TextFinder(Heap& heap, std::string_view part, Direction direction)
    : heap_(heap), part_(part), direction_(direction) {
  heap_.step_text(part.size());
  heap_.take(part.size() * sizeof(size_t));
  border_.resize(part.size(), 0);
  for (size_t i = 1, matched = 0; i < part.size(); ++i) {
    while (matched > 0 && at(part_, i) != at(part_, matched)) matched = border_[matched - 1];
    if (at(part_, i) == at(part_, matched)) ++matched;
    border_[i] = matched;
  }
}

std::optional<size_t> TextFinder::find(std::string_view text) const {
  if (part_.empty()) return direction_ == Direction::forward ? 0 : text.size();
  size_t i = 0;
  std::optional<size_t> found;
  for (size_t matched = 0; i < text.size() && !found; ++i) {
    while (matched > 0 && at(text, i) != at(part_, matched)) matched = border_[matched - 1];
    if (at(text, i) == at(part_, matched)) ++matched;
    if (matched == part_.size()) found = direction_ == Direction::forward ? i + 1 - matched : text.size() - 1 - i;
  }
  heap_.step_text(i);
  return found;
}

std::vector<std::string_view> TextFinder::split(std::string_view text, int64_t limit) const {
  std::vector<std::string_view> out;
  while (limit < 0 || static_cast<int64_t>(out.size()) < limit) {
    const std::optional<size_t> found = find(text);
    if (!found) break;
    heap_.take(sizeof(std::string_view));
    const std::string_view before = text.substr(0, *found), after = text.substr(*found + part_.size());
    out.push_back(direction_ == Direction::forward ? before : after);
    text = direction_ == Direction::forward ? after : before;
  }
  out.push_back(text);
  if (direction_ == Direction::backward) std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace qkv::jinja
