// Memory of the system for tensors: aligned to 64 bytes; large blocks lie in huge pages where the system gives
// them.
//
//     std::byte* block = allocate_memory(bytes);
//     free_memory(block, bytes);
//
// A page of 4 KiB ends the processor's reading ahead and costs a look into its table: reading keys and values that
// do not fit the caches is up to half again as fast from huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qkv {

std::byte* allocate_memory(int64_t bytes);
void free_memory(std::byte* block, int64_t bytes);

}  // namespace qkv
