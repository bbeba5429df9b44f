#include "qkv/decode/shortlist_counts.h"

#include <algorithm>
#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

// The ids of the largest counts, equal ones by id.
template <class Count>
std::vector<int32_t> largest_counts(std::vector<std::pair<Count, int32_t>> counts, int64_t count) {
  const auto kept = std::min(count, std::ssize(counts));
  std::partial_sort(counts.begin(), counts.begin() + kept, counts.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second < b.second;
  });
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < kept; ++i) ids.push_back(counts[static_cast<size_t>(i)].second);
  return ids;
}

void check_tokens(std::span<const int32_t> ids, size_t size, const char* side) {
  for (const int32_t id : ids)
    require(id >= 0 && static_cast<size_t>(id) < size, "ShortlistCounts",
            "a {} token must be an id of the vocabulary of {}, got {}", side, size, id);
}

}  // namespace

ShortlistCounts::ShortlistCounts(int64_t source_tokens, int64_t target_tokens)
    : links_(static_cast<size_t>(source_tokens)), frequencies_(static_cast<size_t>(target_tokens)) {}

void ShortlistCounts::add(std::span<const int32_t> source, std::span<const int32_t> target,
                          const Tensor& alignment) {
  const auto T = std::ssize(target), S = std::ssize(source);
  require(alignment.shape() == Shape{T, S}, "ShortlistCounts", "the alignment must be {}, got {}", Shape{T, S},
          alignment.shape());
  check_tokens(source, links_.size(), "source");
  check_tokens(target, frequencies_.size(), "target");
  for (int64_t t = 0; t < T; ++t) {
    const int32_t id = target[static_cast<size_t>(t)];
    ++frequencies_[static_cast<size_t>(id)];
    for (int64_t s = 0; s < S; ++s)
      if (const float weight = alignment.at<float>({t, s}); weight >= min_weight)
        links_[static_cast<size_t>(source[static_cast<size_t>(s)])][id] += static_cast<double>(weight);
  }
}

std::vector<int32_t> ShortlistCounts::frequent(int64_t count) const {
  std::vector<std::pair<int64_t, int32_t>> counts;
  for (size_t id = 0; id < frequencies_.size(); ++id)
    if (frequencies_[id] > 0) counts.emplace_back(frequencies_[id], static_cast<int32_t>(id));
  return largest_counts(std::move(counts), count);
}

std::vector<int32_t> ShortlistCounts::likely_translations(int32_t source, int64_t count) const {
  const std::span<const int32_t> one(&source, 1);
  check_tokens(one, links_.size(), "source");
  std::vector<std::pair<double, int32_t>> counts;
  for (const auto& [id, sum] : links_[static_cast<size_t>(source)]) counts.emplace_back(sum, id);
  return largest_counts(std::move(counts), count);
}

}  // namespace qkv
