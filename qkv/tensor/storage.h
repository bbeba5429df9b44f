// Memory of tensors: 64-byte aligned, counted, and kept for reuse when released, so that a training step that
// repeats the shapes of the last one asks the system for nothing.
//
//     StorageStatistics before = storage_statistics();   // system_allocations grows until the pool is warm
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace qkv {

class Storage {
 public:
  static std::shared_ptr<Storage> allocate(int64_t bytes);  // from the pool; contents undefined
  // Memory of somebody else (a mapped file, a caller's array), kept alive by its owner.
  static std::shared_ptr<Storage> borrow(void* data, int64_t bytes, std::shared_ptr<void> owner, bool writable);

  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }

 private:
  Storage(std::byte* data, int64_t bytes, int64_t capacity, std::shared_ptr<void> owner, bool writable);

  std::byte* data_;
  int64_t bytes_;
  int64_t capacity_;  // of the pool's block; 0 when borrowed
  std::shared_ptr<void> owner_;
  bool writable_;
};

struct StorageStatistics {
  int64_t system_allocations = 0;  // blocks ever asked of the system
  int64_t pool_bytes = 0;          // bytes now held from the system, in use or kept
  int64_t used_bytes = 0;          // bytes now in use by tensors
  int64_t peak_bytes = 0;          // the largest used_bytes so far
};
StorageStatistics storage_statistics();

void release_unused_storage();  // gives the kept blocks back to the system

}  // namespace qkv
