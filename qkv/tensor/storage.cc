#include "qkv/tensor/storage.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <new>
#include <unordered_map>
#include <vector>

#include "qkv/base/error.h"

namespace qkv {
namespace {

constexpr std::align_val_t alignment{64};

// Eight sizes per power of two: at most an eighth is wasted, and batches of slightly different
// lengths share blocks.
int64_t size_class(int64_t bytes) {
  if (bytes <= 256) return 256;
  const int64_t step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes - 1)) - 4);
  return (bytes + step - 1) / step * step;
}

class Pool {
 public:
  std::byte* take(int64_t capacity) {
    {
      const std::lock_guard lock(mutex_);
      statistics_.used_bytes += capacity;
      statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.used_bytes);
      auto& blocks = free_[capacity];
      if (!blocks.empty()) {
        std::byte* block = blocks.back();
        blocks.pop_back();
        return block;
      }
      ++statistics_.system_allocations;
      statistics_.pool_bytes += capacity;
    }
    return static_cast<std::byte*>(::operator new(static_cast<size_t>(capacity), alignment));
  }

  void give(std::byte* block, int64_t capacity) {
    const std::lock_guard lock(mutex_);
    statistics_.used_bytes -= capacity;
    free_[capacity].push_back(block);
  }

  void release() {
    const std::lock_guard lock(mutex_);
    for (auto& [capacity, blocks] : free_) {
      for (std::byte* block : blocks) ::operator delete(block, alignment);
      statistics_.pool_bytes -= capacity * static_cast<int64_t>(blocks.size());
      blocks.clear();
    }
  }

  StorageStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  std::mutex mutex_;
  std::unordered_map<int64_t, std::vector<std::byte*>> free_;
  StorageStatistics statistics_;
};

// Never destroyed: a tensor with static lifetime may outlive every other object.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

Storage::Storage(std::byte* data, int64_t bytes, int64_t capacity, std::shared_ptr<void> owner, bool writable)
    : data_(data), bytes_(bytes), capacity_(capacity), owner_(std::move(owner)), writable_(writable) {}

Storage::~Storage() {
  if (capacity_ > 0) pool().give(data_, capacity_);
}

std::shared_ptr<Storage> Storage::allocate(int64_t bytes) {
  require(bytes >= 0 && bytes < (int64_t{1} << 46), "Storage", "cannot allocate {} bytes", bytes);
  const int64_t capacity = size_class(bytes);
  return std::shared_ptr<Storage>(new Storage(pool().take(capacity), bytes, capacity, nullptr, true));
}

std::shared_ptr<Storage> Storage::borrow(void* data, int64_t bytes, std::shared_ptr<void> owner, bool writable) {
  return std::shared_ptr<Storage>(new Storage(static_cast<std::byte*>(data), bytes, 0, std::move(owner), writable));
}

StorageStatistics storage_statistics() { return pool().statistics(); }

void release_unused_storage() { pool().release(); }

}  // namespace qkv
