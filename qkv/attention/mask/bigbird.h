// BigBird: in blocks, a sliding window, global blocks, and random blocks (Zaheer et al., "Big Bird: Transformers
// for Longer Sequences", 2020).
//
//     visible(i, j)  <=>  |I - J| <= window_blocks / 2, or I or J is global, or I drew J, or J drew I
//                         I = p / block, J = j / block, p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = bigbird({.block = 64, .random_blocks = 3, .seed = 7})});
//     Tensor z = attention(q, k, v, {.mask = causal() & bigbird()});
//
// A block draws random_blocks / 2 (rounded down and up in turn) of the earlier blocks that it does not see already,
// and is seen by those that it drew: on average it sees random_blocks, before and after it. The draw is a function
// of (seed, head, I), not of the length, so padding or growing a sequence does not change its mask.
// Errors: a block size, window or number of heads that is not positive; an even window; a negative number of random
// blocks; heads other than 1 and H.
#pragma once

#include <vector>

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct BigBirdOptions {
  int64_t block = 64;                        // positions
  int64_t window_blocks = 3;                 // odd: the block itself, and equally many before and after it
  std::vector<int64_t> global_blocks = {0};  // negative: counted from the end; outside the sequence: ignored
  int64_t random_blocks = 3;                 // on average
  int64_t heads = 1;                         // one draw for all heads, or one per head
  uint64_t seed = 1;
};

MaskPtr bigbird(const BigBirdOptions& options = {});
// The same for T = S = length as a table (1, heads, blocks, blocks), u8, for blocks().
Tensor bigbird_table(int64_t length, const BigBirdOptions& options = {});

}  // namespace qkv
