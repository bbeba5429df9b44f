// BigBird: in blocks, a window, a few blocks that see all and are seen by all, and a few drawn at random for every
// block of queries (Zaheer et al., "Big Bird: Transformers for Longer Sequences", 2020).
//
//     visible(i, j)  <=>  |I - J| <= window_blocks / 2, or I or J is global, or J was drawn for I
//                         I = i / block, J = j / block
//
//     Tensor y = attention(q, k, v, {.mask = bigbird(T, {.block = 64, .random_blocks = 3, .seed = 7})});
//
// length is T = S. Blocks drawn are others than a row sees already, and the same for a seed everywhere. Errors: an
// even window, a global block that is none of the sequence.
#pragma once

#include <vector>

#include "qkv/attention/mask/blocks.h"

namespace qkv {

struct BigBird {
  int64_t block = 64;                        // positions
  int64_t window_blocks = 3;                 // an odd number: the block itself, and as many before as after it
  std::vector<int64_t> global_blocks = {0};  // negative ones count from the end
  int64_t random_blocks = 3;                 // of every row
  int64_t heads = 1;                         // draws: one for all heads, or one each
  uint64_t seed = 1;
};

MaskPtr bigbird(int64_t length, const BigBird& options = {});
Tensor bigbird_table(int64_t length, const BigBird& options = {});  // for blocks()

}  // namespace qkv
