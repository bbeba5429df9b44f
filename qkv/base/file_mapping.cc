#include "qkv/base/file_mapping.h"

#include <sys/mman.h>

namespace qkv {

std::shared_ptr<const FileMapping> FileMapping::of(const RandomAccessFile& file) {
  const auto size = static_cast<size_t>(file.size());
  if (size == 0) return nullptr;
  // Owned before it is mapped, so that a failed allocation leaves nothing mapped.
  std::shared_ptr<FileMapping> mapping(new FileMapping({}));
  void* const at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.descriptor(), 0);
  if (at == MAP_FAILED) return nullptr;
  mapping->bytes_ = {static_cast<const std::byte*>(at), size};
  ::madvise(at, size, MADV_WILLNEED);  // a hint: the system begins to read it
  return mapping;
}

FileMapping::~FileMapping() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace qkv
