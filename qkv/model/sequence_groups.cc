#include "qkv/model/sequence_groups.h"

#include <algorithm>
#include <numeric>

namespace qkv {
namespace {

// Measured with an encoder of 12 layers of width 768 on two cores: groups of 256 and 512 tokens are fastest, those of 128 take 4%
// longer in bf16, and those of 1,024 take 1% longer.
constexpr int64_t tokens_of_group = 256, min_tokens = 128;

// The longest time that a thread computes, over the mean, if each takes the next group as soon as it is free.
double imbalance(std::span<const SequenceGroup> groups, int threads) {
  std::vector<int64_t> busy(static_cast<size_t>(threads));
  for (const SequenceGroup& g : groups)
    *std::min_element(busy.begin(), busy.end()) += (g.end - g.begin) * g.longest;
  const int64_t sum = std::accumulate(busy.begin(), busy.end(), int64_t{0});
  return static_cast<double>(*std::max_element(busy.begin(), busy.end())) * threads / static_cast<double>(sum);
}

}  // namespace

std::vector<SequenceGroup> sequence_groups(std::span<const int32_t> lengths, int threads) {
  const auto B = std::ssize(lengths);
  const int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  if (threads < 2 || B < threads || tokens < threads * min_tokens) return {};
  const int64_t rounds = std::clamp<int64_t>(tokens / (threads * tokens_of_group), 1, B / threads);
  const int64_t share = tokens / (rounds * threads);
  std::vector<SequenceGroup> groups;
  int64_t before = 0;  // tokens of the sequences so far
  for (int64_t b = 0; b < B; ++b) {
    if (groups.empty() || before >= share * std::ssize(groups)) groups.push_back({.begin = b});
    SequenceGroup& group = groups.back();
    group.end = b + 1;
    group.longest = std::max<int64_t>(group.longest, lengths[static_cast<size_t>(b)]);
    before += lengths[static_cast<size_t>(b)];
  }
  constexpr double max_imbalance = 1.1;
  if (std::ssize(groups) < threads || imbalance(groups, threads) > max_imbalance) return {};
  return groups;
}

}  // namespace qkv
