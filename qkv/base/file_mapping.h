// A file in the address space of the process, read-only: no byte is read before it is used, none is copied, and all
// processes that map the file share one copy of it in memory.
//
//     const RandomAccessFile file("model.safetensors");
//     if (const auto mapping = FileMapping::of(file)) mapping->bytes();     // valid as long as the mapping
//
// A file that is replaced by renaming another one over it, or removed, stays as it was. If it is truncated in place
// instead, or its disk fails, the use of a page that is not in memory ends the process by the signal SIGBUS; what is
// written into it in place changes the bytes. Map only files that are not written in place.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "qkv/base/file.h"

namespace qkv {

class FileMapping {
 public:
  // Null if the system does not map it: the file is then read.
  static std::shared_ptr<const FileMapping> of(const RandomAccessFile& file);
  ~FileMapping();
  FileMapping(const FileMapping&) = delete;
  FileMapping& operator=(const FileMapping&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  explicit FileMapping(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace qkv
