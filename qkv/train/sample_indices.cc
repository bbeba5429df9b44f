#include "qkv/train/sample_indices.h"

#include <algorithm>

namespace qkv {

std::vector<size_t> sample_indices(const std::vector<int64_t>& lengths, int64_t count) {
  constexpr int64_t shortest = 4, longest = 30;
  std::vector<size_t> usual, all;
  for (size_t i = 0; i < lengths.size(); ++i) {
    all.push_back(i);
    if (lengths[i] >= shortest && lengths[i] <= longest) usual.push_back(i);
  }
  const std::vector<size_t>& from = std::ssize(usual) >= count ? usual : all;
  count = std::min(count, static_cast<int64_t>(from.size()));
  std::vector<size_t> chosen;
  for (int64_t i = 0; i < count; ++i) chosen.push_back(from[static_cast<size_t>(i * std::ssize(from) / count)]);
  return chosen;
}

}  // namespace qkv
