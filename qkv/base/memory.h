// Memory for tensors from the system: aligned to 64 bytes; large blocks in huge pages if the system provides them.
//
//     std::byte* block = allocate_memory(bytes);
//     free_memory(block, bytes);
//
// Hardware prefetching stops at the end of a page of 4 KiB, and each page needs a TLB entry: reading keys and values
// that do not fit the caches is up to 1.5 times as fast from huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qkv {

std::byte* allocate_memory(int64_t bytes);
void free_memory(std::byte* block, int64_t bytes);

}  // namespace qkv
