#include "qkv/tensor/storage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <new>
#include <utility>

#include "qkv/base/error.h"
#include "qkv/base/fork.h"
#include "qkv/base/integers.h"
#include "qkv/base/memory.h"
#include "qkv/tensor/free_ranges.h"

namespace qkv {
namespace {

// Small blocks have eight sizes per power of two: at most an eighth is wasted, and batches of similar lengths share blocks.
struct SizeClass {
  int64_t bytes = 256;
  size_t index = 0;
};
constexpr SizeClass size_class(int64_t bytes) {
  if (bytes <= 256) return {};
  const int bits = std::bit_width(static_cast<uint64_t>(bytes - 1)) - 4;  // of a step
  const int64_t steps = rounded_up(bytes, int64_t{1} << bits) >> bits;    // 9 to 16
  return {steps << bits, static_cast<size_t>(8 * (bits - 5) + steps - 8)};
}

constexpr int64_t largest_small_block = 16 << 10;
constexpr int64_t bytes_of_header = 128;  // before a small block: the Storage and its counts of users
constexpr size_t size_classes = size_class(largest_small_block).index + 1;
constexpr std::align_val_t alignment{64};

// What is mapped ahead at a time, at most.
constexpr int64_t largest_mapping = 32 << 20;

bool is_small(int64_t capacity) { return capacity <= largest_small_block; }

// A large block has whole pages, so that each can be returned to the system.
int64_t capacity_for(int64_t bytes) {
  const int64_t needed = bytes + guard_bytes();
  return is_small(needed) ? size_class(needed).bytes : rounded_up(needed, page_bytes());
}

// Free blocks form a linked list: each holds the address of the next one, so freeing a block allocates nothing.
std::byte*& next_of(std::byte* block) { return *reinterpret_cast<std::byte**>(block); }

class Pool {
 public:
  // A small block follows a header, where this is.
  std::byte* take_small(int64_t capacity) {
    const std::lock_guard lock(mutex_);
    std::byte* const header = small_block(capacity);
    count_use(bytes_of_header + capacity);
    return header;
  }

  void give_small(std::byte* header, int64_t capacity) {
    const std::lock_guard lock(mutex_);
    statistics_.used_bytes -= bytes_of_header + capacity;
    next_of(header) = std::exchange(small_[size_class(capacity).index], header);
  }

  std::byte* take_large(int64_t capacity) {
    const std::lock_guard lock(mutex_);
    std::byte* const block = large_block(capacity);
    count_use(capacity);
    return block;
  }

  void give_large(std::byte* block, int64_t capacity) {
    const std::lock_guard lock(mutex_);
    statistics_.used_bytes -= capacity;
    forbid_use(block, capacity);
    large_.give({block, capacity});
    --large_blocks_;
  }

  void release() {
    const std::lock_guard lock(mutex_);
    release(statistics_.pool_bytes);
  }

  StorageStatistics statistics() {
    const std::lock_guard lock(mutex_);
    return statistics_;
  }

 private:
  std::byte* small_block(int64_t capacity) {
    std::byte*& first = small_[size_class(capacity).index];
    if (first != nullptr) return std::exchange(first, next_of(first));
    const int64_t bytes = bytes_of_header + capacity;
    auto* const header = static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), alignment));
    count_allocation(bytes);
    return header;
  }

  std::byte* large_block(int64_t capacity) {
    large_.reserve(large_blocks_ + 3);  // for each block and this one, and what two mappings leave
    std::byte* block = large_.take(capacity);
    if (block == nullptr) {
      // A free range at the edge and what is mapped beside it are the block together, if the system places it there.
      map(capacity - large_.bytes_from(edge_));
      block = large_.take(capacity);
    }
    if (block == nullptr) {
      map(capacity);
      block = large_.take(capacity);
    }
    ++large_blocks_;
    return block;
  }

  // A free range for this number of bytes, and for blocks after them: an eighth of the pool.
  void map(int64_t needed) {
    const int64_t next = std::clamp<int64_t>(statistics_.pool_bytes / 8, 4 << 20, largest_mapping);
    const int64_t bytes = rounded_up(std::max(needed, next), huge_page);
    make_room(bytes);
    edge_ = [&] {
      try {
        return map_memory(bytes);
      } catch (const std::bad_alloc&) {
        release(statistics_.pool_bytes);
        return map_memory(bytes);
      }
    }();
    forbid_use(edge_, bytes);
    count_allocation(bytes);
    large_.give({edge_, bytes});
  }

  void count_use(int64_t bytes) {
    statistics_.used_bytes += bytes;
    statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.used_bytes);
  }

  void count_allocation(int64_t bytes) {
    ++statistics_.system_allocations;
    statistics_.pool_bytes += bytes;
  }

  // Called before memory is mapped: where sizes grow from step to step, as in decoding, ranges that have become too
  // small would accumulate. The pool holds at most a quarter more than was ever used at a time, plus 16 MiB.
  void make_room(int64_t bytes) {
    const int64_t needed = std::max(statistics_.peak_bytes, statistics_.used_bytes + bytes);
    const int64_t excess = statistics_.pool_bytes + bytes - (needed + needed / 4 + (16 << 20));
    if (excess > 0) release(excess);
  }

  // Releases at least this number of bytes, if as many are free: the largest ranges first, then small blocks.
  void release(int64_t bytes) {
    const int64_t target = statistics_.pool_bytes - bytes;
    while (statistics_.pool_bytes > target) {
      const FreeRanges::Range range = large_.take_largest();
      if (range.bytes == 0) break;
      if (!unmap_memory(range.begin, range.bytes)) {
        forbid_use(range.begin, range.bytes);
        large_.give(range);
        break;
      }
      statistics_.pool_bytes -= range.bytes;
    }
    for (int64_t capacity = 256; is_small(capacity); capacity = size_class(capacity + 1).bytes)
      for (std::byte*& first = small_[size_class(capacity).index];
           first != nullptr && statistics_.pool_bytes > target;) {
        ::operator delete(std::exchange(first, next_of(first)), alignment);
        statistics_.pool_bytes -= bytes_of_header + capacity;
      }
  }

  ForkSafeMutex mutex_;
  std::array<std::byte*, size_classes> small_ = {};  // the first free block of each size
  FreeRanges large_;
  size_t large_blocks_ = 0;    // in use
  std::byte* edge_ = nullptr;  // where the memory begins that was mapped last
  StorageStatistics statistics_;
};

// Never destroyed: a tensor with static lifetime may outlive every other object.
Pool& pool() {
  static Pool* const instance = new Pool;
  return *instance;
}

// Places a Storage in the header of a small block, which is free again once nothing uses the Storage.
template <class T>
struct HeaderAllocator {
  using value_type = T;

  HeaderAllocator(std::byte* h, int64_t block_bytes) : header(h), capacity(block_bytes) {}
  template <class Other>
  HeaderAllocator(const HeaderAllocator<Other>& other) : HeaderAllocator(other.header, other.capacity) {}

  T* allocate(size_t) {
    static_assert(sizeof(T) <= bytes_of_header);
    return reinterpret_cast<T*>(header);
  }
  void deallocate(T*, size_t) { pool().give_small(header, capacity); }
  bool operator==(const HeaderAllocator& other) const { return header == other.header; }

  std::byte* header;
  int64_t capacity;
};

}  // namespace

Storage::Storage(Key, std::byte* data, int64_t bytes, std::shared_ptr<void> owner, bool writable)
    : data_(data), bytes_(bytes), owner_(std::move(owner)), writable_(writable) {}

Storage::Storage(Key, int64_t bytes, int64_t large_capacity)
    : data_(pool().take_large(large_capacity)), bytes_(bytes), large_capacity_(large_capacity), writable_(true) {
  allow_use(data_, bytes);
}

Storage::~Storage() {
  if (large_capacity_ > 0) pool().give_large(data_, large_capacity_);
}

std::shared_ptr<Storage> Storage::allocate(int64_t bytes) {
  require(bytes >= 0 && bytes < (int64_t{1} << 46), "Storage", "cannot allocate {} bytes", bytes);
  const int64_t capacity = capacity_for(bytes);
  const int64_t small = is_small(capacity) ? capacity : size_class(0).bytes;
  std::byte* const header = pool().take_small(small);
  const HeaderAllocator<Storage> place(header, small);
  if (!is_small(capacity)) return std::allocate_shared<Storage>(place, Key(), bytes, capacity);
  return std::allocate_shared<Storage>(place, Key(), header + bytes_of_header, bytes, nullptr, true);
}

std::shared_ptr<Storage> Storage::borrow(void* data, int64_t bytes, std::shared_ptr<void> owner, bool writable) {
  return std::make_shared<Storage>(Key(), static_cast<std::byte*>(data), bytes, std::move(owner), writable);
}

StorageStatistics storage_statistics() { return pool().statistics(); }

void release_unused_storage() { pool().release(); }

}  // namespace qkv
