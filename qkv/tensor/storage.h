// Memory of tensors: 64-byte aligned, counted, and pooled: a training step with the same shapes as the one before
// allocates nothing from the system. Tensors of 16 KiB or more are parts of larger pieces of memory (free_ranges.h), so that
// tensors of all sizes use the same memory one after the other; smaller ones have blocks of some fifty sizes, each behind its
// Storage. What is free is kept up to a quarter of the most memory ever used at a time.
//
//     StorageStatistics before = storage_statistics();   // system_allocations grows until the pool is warm
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace qkv {

class Storage {
  struct Key {};  // only members make storage

 public:
  static std::shared_ptr<Storage> allocate(int64_t bytes);  // from the pool; contents undefined
  // Memory owned by the caller (a mapped file, an array); `owner` keeps it alive.
  static std::shared_ptr<Storage> borrow(void* data, int64_t bytes, std::shared_ptr<void> owner, bool writable);

  Storage(Key key, std::byte* data, int64_t bytes, std::shared_ptr<void> owner, bool writable);
  Storage(Key key, int64_t bytes, int64_t large_capacity);
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  bool writable() const { return writable_; }

 private:
  std::byte* data_;
  int64_t bytes_;
  int64_t large_capacity_ = 0;  // of a large block of the pool, which is returned to it
  std::shared_ptr<void> owner_;
  bool writable_;
};

struct StorageStatistics {
  int64_t system_allocations = 0;  // pieces allocated from the system so far
  int64_t pool_bytes = 0;          // bytes allocated from the system and not returned, used or free
  int64_t used_bytes = 0;          // bytes used by tensors
  int64_t peak_bytes = 0;          // the largest used_bytes so far
};
StorageStatistics storage_statistics();

void release_unused_storage();  // returns what is free to the system

}  // namespace qkv
