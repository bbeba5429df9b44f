#include "qkv/base/memory.h"

#include <new>

#if __has_include(<sys/mman.h>)
#include <sys/mman.h>
#endif

namespace qkv {
namespace {

constexpr int64_t huge_page = int64_t{2} << 20;

std::align_val_t alignment_of(int64_t bytes) { return std::align_val_t(bytes >= 2 * huge_page ? huge_page : 64); }

}  // namespace

std::byte* allocate_memory(int64_t bytes) {
  auto* const block = static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), alignment_of(bytes)));
#ifdef MADV_HUGEPAGE
  // A hint: without huge pages the memory has pages of the default size.
  if (bytes >= 2 * huge_page) madvise(block, static_cast<size_t>(bytes / huge_page * huge_page), MADV_HUGEPAGE);
#endif
  return block;
}

void free_memory(std::byte* block, int64_t bytes) { ::operator delete(block, alignment_of(bytes)); }

}  // namespace qkv
