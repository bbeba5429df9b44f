// Memory for tensors from the system, in huge pages if the system provides them.
//
//     std::byte* memory = map_memory(8 * huge_page);
//     unmap_memory(memory, huge_page);                  // any part, in whole pages
//
// Hardware prefetching stops at the end of a page of 4 KiB, and each page needs a TLB entry: reading keys and values
// that do not fit the caches is up to 1.5 times as fast from huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace qkv {

inline constexpr int64_t huge_page = int64_t{2} << 20;

int64_t page_bytes();

// Whole huge pages, filled with zeros. std::bad_alloc if the system has no more.
std::byte* map_memory(int64_t bytes);

// False if the system keeps it, which may be used on.
bool unmap_memory(std::byte* memory, int64_t bytes);

// For the address sanitizer, use of what is forbidden is an error; without it these do nothing. A block has this number
// of bytes more, which stay forbidden: 0 without the sanitizer.
void forbid_use(const std::byte* memory, int64_t bytes);
void allow_use(const std::byte* memory, int64_t bytes);
int64_t guard_bytes();

}  // namespace qkv
