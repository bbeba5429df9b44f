// BigBird: in blocks, a window, a few blocks that see all and are seen by all, and a few drawn at random (Zaheer et
// al., "Big Bird: Transformers for Longer Sequences", 2020).
//
//     visible(i, j)  <=>  |I - J| <= window_blocks / 2, or I or J is global, or I drew J, or J drew I
//                         I = p / block, J = j / block, p = i + S - T
//
//     Tensor y = attention(q, k, v, {.mask = bigbird({.block = 64, .random_blocks = 3, .seed = 7})});
//     Tensor z = attention(q, k, v, {.mask = causal() & bigbird()});
//
// A block draws among those before it that it does not see already, half of random_blocks (rounded down and up in
// turn), and is seen by those that it drew: on average a row sees random_blocks of them, before and after it. What
// it draws is a function of (seed, head, I), not of the length, so a sequence looks the same with padding behind
// it, and while it grows. Errors: an even window.
#pragma once

#include <vector>

#include "qkv/attention/mask/mask.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct BigBird {
  int64_t block = 64;                        // positions
  int64_t window_blocks = 3;                 // an odd number: the block itself, and as many before as after it
  std::vector<int64_t> global_blocks = {0};  // negative ones count from the end; those behind it are nobody's
  int64_t random_blocks = 3;                 // of a row, on average
  int64_t heads = 1;                         // draws: one for all heads, or one each
  uint64_t seed = 1;
};

MaskPtr bigbird(const BigBird& options = {});
// The same for T = S = length as a table (1, heads, blocks, blocks), u8, for blocks().
Tensor bigbird_table(int64_t length, const BigBird& options = {});

}  // namespace qkv
