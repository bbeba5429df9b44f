#include "qkv/decode/length_batches.h"

#include <algorithm>

namespace qkv {

std::vector<std::vector<size_t>> length_batches(std::span<const int64_t> lengths,
                                                const LengthBatchesOptions& options) {
  std::vector<size_t> order;
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] > 0) order.push_back(i);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return lengths[a] > lengths[b]; });
  std::vector<std::vector<size_t>> batches;
  for (const size_t i : order) {
    const auto fits = [&](const std::vector<size_t>& batch) {
      const int64_t longest = lengths[batch.front()], size = std::ssize(batch);
      if (size + 1 > options.tokens / longest) return false;
      if (options.equal) return lengths[i] == longest;
      return size + 1 <= options.enough / longest || lengths[i] >= longest - longest / 8;
    };
    if (batches.empty() || !fits(batches.back())) batches.emplace_back();
    batches.back().push_back(i);
  }
  return batches;
}

}  // namespace qkv
