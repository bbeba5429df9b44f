// Sentences cut into batches of about equal lengths, so that little of a batch is padding.
//
//     for (const std::vector<size_t>& batch : length_batches(lengths, 4096)) ...     // places in `lengths`
//
// Longest first: what needs the most memory comes at once. Sentences * longest of a batch is at most `tokens`,
// except that a batch holds one sentence at least. Those of length 0 are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace qkv {

std::vector<std::vector<size_t>> length_batches(std::span<const int64_t> lengths, int64_t tokens);

}  // namespace qkv
