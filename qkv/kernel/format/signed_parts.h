// Encoding of blocks whose 16 parts of 16 numbers have a signed integer as their scale, times a scale of the block: Q3_K
// and Q6_K.
#pragma once

#include <array>
#include <cstdint>

#include "qkv/kernel/format/block.h"
#include "qkv/kernel/format/scale_search.h"

namespace qkv {

struct SignedParts {
  CodeRange numbers, scales;
};

bool encode_parts(const float* x, const SignedParts& layout, BlockNumbers& to);

}  // namespace qkv
