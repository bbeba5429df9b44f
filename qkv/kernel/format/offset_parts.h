// Encoding of blocks whose parts have a scale and an offset as integers, times a scale of the block: Q2_K, Q4_K, Q5_K.
#pragma once

#include <array>
#include <cstdint>

#include "qkv/kernel/format/block.h"

namespace qkv {

struct OffsetParts {
  int parts, width;  // parts * width = 256 numbers
  int high;          // numbers are 0 to high
  int highest;       // scales and offsets are 0 to highest
};

bool encode_parts(const float* x, const OffsetParts& layout, BlockNumbers& to);

}  // namespace qkv
