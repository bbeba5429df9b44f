// The peak resident memory of this process, in bytes.
#pragma once

#include <cstdint>

namespace qkv {

int64_t peak_memory();

}  // namespace qkv
