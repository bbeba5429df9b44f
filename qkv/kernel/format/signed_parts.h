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

struct EncodedSignedParts {
  StoredHalf d;
  std::array<int8_t, 16> scale{};  // of the parts
  std::array<int8_t, 256> q{};
};

// False if d is not finite as f16, or x is not.
bool encode_parts(const float* x, const SignedParts& layout, EncodedSignedParts& to);

}  // namespace qkv
