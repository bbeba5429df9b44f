// Batches of sentences of similar lengths, so that there is little padding.
//
//     for (const std::vector<size_t>& batch : length_batches(lengths, 4096)) ...     // indices into `lengths`
//
// Longest first, so that the batch that needs the most memory comes first. Sentences times longest length of a
// batch is at most `tokens`, but a batch holds at least one sentence. Sentences of length 0 are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qkv {

std::vector<std::vector<size_t>> length_batches(std::span<const int64_t> lengths, int64_t tokens);

}  // namespace qkv
