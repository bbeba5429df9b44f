// Which validation sentences are shown with each validation: always the same ones, of a length that fits a line, spread
// over the data.
//
//     sample_indices(/*lengths=*/{4, 90, 12, 7}, /*count=*/2)         // {0, 2}
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qkv {

// Indices of sentences by their lengths in tokens, ascending; fewer than `count` if there are fewer.
std::vector<size_t> sample_indices(const std::vector<int64_t>& lengths, int64_t count);

}  // namespace qkv
