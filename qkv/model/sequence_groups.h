// Sequences of a batch in groups that threads compute whole, each its own ones, through all layers: what a layer writes is then
// still in the cache of the core that reads it in the next one, and threads wait for one another once, not in every product.
//
//     for (const SequenceGroup& g : sequence_groups(lengths, /*threads=*/2)) ...      // rows [g.begin, g.end) of the batch
//
// A group has some hundred tokens, since each reads all weights. There are no groups where threads would have too few
// tokens, or shares of very different sizes: then threads share each product instead.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace qkv {

struct SequenceGroup {
  int64_t begin = 0, end = 0;  // sequences
  int64_t longest = 0;         // tokens
};
std::vector<SequenceGroup> sequence_groups(std::span<const int32_t> lengths, int threads);

}  // namespace qkv
