// Batches of sentences of similar lengths, so that there is little padding.
//
//     for (const std::vector<size_t>& batch : length_batches(lengths, {.tokens = 4096})) ...  // indices into `lengths`
//
// Longest first, so that the batch that needs the most memory comes first. Sentences times longest length of a
// batch is at most `tokens`, but a batch holds at least one sentence. Sentences of length 0 are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace qkv {

struct LengthBatchesOptions {
  int64_t tokens = 4096;
  bool equal = false;  // sentences of a batch have one length: for a model with ModelConfig::depends_on_length()
  // A batch of as many tokens takes no sentence whose padding would be more than an eighth. Where a batch is one pass, more
  // rows do not make its products faster (enough_for_products), and padding is all that a larger one adds.
  int64_t enough = std::numeric_limits<int64_t>::max();
};
constexpr int64_t enough_for_products = 512;
std::vector<std::vector<size_t>> length_batches(std::span<const int64_t> lengths,
                                                const LengthBatchesOptions& options);

}  // namespace qkv
