#include "qkv/base/memory.h"

#include <new>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define QKV_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define QKV_ADDRESS_SANITIZER
#endif
#endif
#ifdef QKV_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#endif

namespace qkv {

int64_t page_bytes() {
  static const int64_t bytes = ::sysconf(_SC_PAGESIZE);
  return bytes;
}

std::byte* map_memory(int64_t bytes) {
  const auto size = static_cast<size_t>(bytes), spare = static_cast<size_t>(huge_page);
  void* const at = ::mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  // The last part that begins with a huge page: the next mapping, which Linux places below, is likely to touch it.
  const size_t before = spare - (reinterpret_cast<uintptr_t>(at) + size + spare) % spare;
  auto* const memory = static_cast<std::byte*>(at) + before;
  if (before > 0) ::munmap(at, before);
  if (before < spare) ::munmap(memory + size, spare - before);
#ifdef MADV_HUGEPAGE
  ::madvise(memory, size, MADV_HUGEPAGE);  // a hint: without huge pages the memory has pages of the default size
#endif
  return memory;
}

bool unmap_memory(std::byte* memory, int64_t bytes) {
  allow_use(memory, bytes);  // of what the system maps there next
  return ::munmap(memory, static_cast<size_t>(bytes)) == 0;
}

#ifdef QKV_ADDRESS_SANITIZER
void forbid_use(const std::byte* memory, int64_t bytes) {
  __asan_poison_memory_region(memory, static_cast<size_t>(bytes));
}
void allow_use(const std::byte* memory, int64_t bytes) {
  __asan_unpoison_memory_region(memory, static_cast<size_t>(bytes));
}
int64_t guard_bytes() { return 64; }
#else
void forbid_use(const std::byte* /*memory*/, int64_t /*bytes*/) {}
void allow_use(const std::byte* /*memory*/, int64_t /*bytes*/) {}
int64_t guard_bytes() { return 0; }
#endif

}  // namespace qkv
