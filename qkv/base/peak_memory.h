// The peak resident memory of this process, in bytes.
#pragma once

#include <cstdint>

namespace qkv {

int64_t peak_memory();

// From here on it is the peak since this call, if the system can do that: Linux with /proc. False if not.
bool reset_peak_memory();

}  // namespace qkv
