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
  // A batch of as many tokens takes no sentence whose padding would be more than an eighth: its products are as fast as those
  // of a larger one. Where each sentence of a batch takes many steps of one row, there are never enough: any_number.
  int64_t enough = 512;
  static constexpr int64_t any_number = std::numeric_limits<int64_t>::max();
};
std::vector<std::vector<size_t>> length_batches(std::span<const int64_t> lengths,
                                                const LengthBatchesOptions& options);

}  // namespace qkv
