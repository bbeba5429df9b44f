// The output of an encoder for a batch of sentences.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/autograd/variable.h"

namespace qkv {

struct Encoded {
  Variable memory;                   // (B,S,C)
  std::vector<int32_t> lengths;      // of the sources, without padding
  std::vector<Variable> state = {};  // of a recurrent encoder, by layer (layer/recurrent.h)
};

// Some sentences of the batch, in any order, repeated or not. No gradient flows through it.
Encoded gather_rows(const Encoded& encoded, std::span<const int64_t> rows);

}  // namespace qkv
