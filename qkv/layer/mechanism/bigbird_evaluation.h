// BigBird as Hugging Face transformers evaluates it: no block is drawn. Every random block is a copy of block 0, so its
// keys count 1 + random times.
//
//     visible(i, j)  <=>  |I - J| <= 1, or I or J is the first or the last block          I = i / block, J = j / block
//     s_ij <- s_ij + ln(1 + random)         for j in block 0, i not in the first or the last block: first_block_bias()
//
// A sequence of (5 + 2 random) block positions or fewer has full attention. The length is that of the batch, padding
// counted, as it is there: the last block may be padding.
//
//     AttentionVariant variant = BigBirdEvaluation{.block = 64, .random = 3};              // "bigbird-evaluation=64:3"
//
// BigBird (mask.h), in contrast, follows the paper: its random blocks are drawn, as a function of the position.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct BigBirdEvaluation {
  int64_t block = 64, random = 3;
  bool operator==(const BigBirdEvaluation&) const = default;
};

AttentionMechanismPtr mechanism_of(const BigBirdEvaluation&);

}  // namespace qkv
