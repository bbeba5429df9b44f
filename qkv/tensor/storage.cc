#include "qkv/tensor/storage.h"

#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/fork.h"
#include "qkv/base/memory.h"

namespace qkv {
namespace {

// Eight sizes per power of two: at most an eighth is wasted, and batches of similar lengths share blocks.
int64_t size_class(int64_t bytes) {
  if (bytes <= 256) return 256;
  const int64_t step = int64_t{1} << (std::bit_width(static_cast<uint64_t>(bytes - 1)) - 4);
  return (bytes + step - 1) / step * step;
}

struct Block {
  std::byte* data;
  int64_t capacity;
};

// Free blocks form a linked list: each holds the address of the next one, so freeing a block allocates nothing.
std::byte*& next_of(std::byte* block) { return *reinterpret_cast<std::byte**>(block); }

class Pool {
 public:
  // A block of at least `capacity`, at most `largest`.
  Block take(int64_t capacity, int64_t largest) {
    {
      const std::lock_guard lock(mutex_);
      for (auto at = free_.lower_bound(capacity); at != free_.end() && at->first <= largest; ++at) {
        if (at->second == nullptr) continue;
        const Block block{at->second, at->first};
        at->second = next_of(block.data);
        use(block.capacity);
        return block;
      }
      free_.try_emplace(capacity, nullptr);
      make_room(capacity);
    }
    std::byte* const data = allocate_memory(capacity);
    const std::lock_guard lock(mutex_);
    use(capacity);
    ++statistics_.system_allocations;
    statistics_.pool_bytes += capacity;
    return {data, capacity};
  }

  void give(std::byte* block, int64_t capacity) {
    const std::lock_guard lock(mutex_);
    statistics_.used_bytes -= capacity;
    next_of(block) = std::exchange(free_.find(capacity)->second, block);
  }

  void release() {
    const std::lock_guard lock(mutex_);
    release(statistics_.pool_bytes, free_.begin());
  }

  StorageStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  using Sizes = std::map<int64_t, std::byte*>;  // the first block of each capacity

  // Called before a new block: where sizes grow from step to step, as in decoding, blocks that have become too
  // small would accumulate. The pool holds at most a quarter more than was ever used at a time, plus 16 MiB.
  void make_room(int64_t capacity) {
    const int64_t needed = std::max(statistics_.peak_bytes, statistics_.used_bytes + capacity);
    const int64_t excess = statistics_.pool_bytes + capacity - (needed + needed / 4 + (16 << 20));
    if (excess > 0) release(excess, free_.lower_bound(capacity));
  }

  // Releases at least this number of bytes, if as many are free: blocks below `from` first, then those above, in
  // both cases the largest first.
  void release(int64_t bytes, Sizes::iterator from) {
    const int64_t target = statistics_.pool_bytes - bytes;
    const auto empty = [&](Sizes::value_type& size) {
      auto& [capacity, first] = size;
      while (first != nullptr && statistics_.pool_bytes > target) {
        free_memory(std::exchange(first, next_of(first)), capacity);
        statistics_.pool_bytes -= capacity;
      }
    };
    for (auto at = from; at != free_.begin();) empty(*--at);
    for (auto at = free_.end(); at != from;) empty(*--at);
  }

  void use(int64_t bytes) {
    statistics_.used_bytes += bytes;
    statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.used_bytes);
  }

  ForkSafeMutex mutex_;
  Sizes free_;
  StorageStatistics statistics_;
};

// Never destroyed: a tensor with static lifetime may outlive every other object.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

}  // namespace

Storage::Storage(Key, std::byte* data, int64_t bytes, int64_t capacity, std::shared_ptr<void> owner, bool writable)
    : data_(data), bytes_(bytes), capacity_(capacity), owner_(std::move(owner)), writable_(writable) {}

Storage::~Storage() {
  if (capacity_ > 0) pool().give(data_, capacity_);
}

// Uses a block of up to twice the size: with batches of different shapes the pool would otherwise hold a set of
// blocks for every shape.
std::shared_ptr<Storage> Storage::allocate(int64_t bytes) { return allocate(bytes, 2); }
std::shared_ptr<Storage> Storage::allocate_to_keep(int64_t bytes) { return allocate(bytes, 1); }

std::shared_ptr<Storage> Storage::allocate(int64_t bytes, int64_t factor) {
  require(bytes >= 0 && bytes < (int64_t{1} << 46), "Storage", "cannot allocate {} bytes", bytes);
  const int64_t capacity = size_class(bytes);
  const Block block = pool().take(capacity, factor * capacity);
  return std::make_shared<Storage>(Key(), block.data, bytes, block.capacity, nullptr, true);
}

std::shared_ptr<Storage> Storage::borrow(void* data, int64_t bytes, std::shared_ptr<void> owner, bool writable) {
  return std::make_shared<Storage>(Key(), static_cast<std::byte*>(data), bytes, 0, std::move(owner), writable);
}

StorageStatistics storage_statistics() { return pool().statistics(); }

void release_unused_storage() { pool().release(); }

}  // namespace qkv
