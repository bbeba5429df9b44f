// The loops of the attention engine on one tile: lanes are queries, rows are keys.
#pragma once

#include <cstdint>

namespace qkv::kernel {

struct AttentionKernels {
  // Not yet.
};

}  // namespace qkv::kernel
