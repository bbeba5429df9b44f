// Equal lines of a block are computed once: an answer does not depend on the other lines. Corpora of the web repeat
// themselves.
//
//     const DistinctLines<std::string> distinct(lines);                              // those that are not bad
//     const auto answers = distinct.compute([&] { return translator.translate(distinct.items(), options); });
//     for (size_t good = 0; ...) answers[distinct.index(good++)]                      // of the next line that is not bad
//
// A RefusedTexts of compute() is about the distinct items; it is thrown again about the lines that are not bad.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "cli/answer_lines.h"

namespace qkv::cli {

inline std::string identity_of(const std::string& line) { return line; }
inline std::string identity_of(const SentencePair& pair) { return pair.source + '\n' + pair.target; }

template <class Item>
class DistinctLines {
 public:
  explicit DistinctLines(const std::vector<ReadLine<Item>>& lines) {
    std::unordered_map<std::string, size_t> known;
    for (const ReadLine<Item>& line : lines) {
      if (line.bad) continue;
      const auto [found, is_new] = known.try_emplace(identity_of(line.item), items_.size());
      if (is_new) items_.push_back(line.item);
      indices_.push_back(found->second);
    }
  }

  const std::vector<Item>& items() const { return items_; }
  size_t index(size_t good) const { return indices_.at(good); }

  template <class Compute>
  auto compute(Compute compute) const {
    try {
      return compute();
    } catch (const RefusedTexts& e) {
      std::vector<RefusedTexts::Text> of_lines;
      std::unordered_map<size_t, std::string> reasons;
      for (const RefusedTexts::Text& text : e.texts()) reasons.emplace(text.index, text.reason);
      for (size_t good = 0; good < indices_.size(); ++good)
        if (const auto reason = reasons.find(indices_[good]); reason != reasons.end())
          of_lines.push_back({.index = good, .reason = reason->second});
      throw RefusedTexts("line", std::move(of_lines));
    }
  }

 private:
  std::vector<Item> items_;
  std::vector<size_t> indices_;  // of the lines that are not bad
};

}  // namespace qkv::cli
