#include "qkv/tensor/storage.h"

#include <algorithm>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/tensor/tensor.h"

namespace qkv::storage_test {

TEST(Storage, IsAlignedForVectors) {
  for (const int64_t bytes : {0, 1, 63, 64, 1000, 1 << 20}) {
    const auto storage = Storage::allocate(bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(storage->data()) % 64, 0u) << bytes;
    EXPECT_EQ(storage->bytes(), bytes);
    EXPECT_TRUE(storage->writable());
  }
}

// A repeated sequence of shapes, as in training, allocates from the system only once.
TEST(Storage, ARepeatedStepTakesNothingFromTheSystem) {
  const auto step = [] {
    std::vector<Tensor> alive;
    for (const int64_t n : {1000, 37, 5000, 1000, 1, 70000}) {
      alive.push_back(Tensor::empty({n}));
      const Tensor passing = Tensor::empty({n, 2});
    }
  };
  step();
  const StorageStatistics warm = storage_statistics();
  for (int i = 0; i < 100; ++i) step();
  const StorageStatistics after = storage_statistics();
  EXPECT_EQ(after.system_allocations, warm.system_allocations);
  EXPECT_EQ(after.pool_bytes, warm.pool_bytes);
  EXPECT_EQ(after.used_bytes, warm.used_bytes);
}

TEST(Storage, SlightlyDifferentLengthsShareBlocks) {
  { const Tensor warm = Tensor::empty({1 << 20}); }
  const int64_t before = storage_statistics().system_allocations;
  for (int64_t n = (1 << 20) - 50'000; n < 1 << 20; n += 1000) Tensor::empty({n});
  EXPECT_EQ(storage_statistics().system_allocations, before);
}

// What a large tensor has left is used by smaller ones, which lie side by side, and then by a large one again.
TEST(Storage, TensorsOfAllSizesUseTheSameMemory) {
  release_unused_storage();
  {
    std::vector<std::shared_ptr<Storage>> small;  // blocks in which large tensors are described
    while (small.size() < 6) small.push_back(Storage::allocate(0));
  }
  Storage::allocate(24 << 20);
  const StorageStatistics before = storage_statistics();
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<Storage>> alive;
    for (const int64_t bytes : {1 << 20, 3 << 20, 100'000, 7'654'321, 2 << 20, 5'000'000})
      alive.push_back(Storage::allocate(bytes));
    while (!alive.empty()) alive.pop_back();
    Storage::allocate(23 << 20);
  }
  EXPECT_EQ(storage_statistics().system_allocations, before.system_allocations);
  EXPECT_EQ(storage_statistics().pool_bytes, before.pool_bytes);
}

// Also between tensors that stay: a loaded model does not hold the memory of what was converted.
TEST(Storage, FreeMemoryBetweenTensorsIsReturned) {
  release_unused_storage();
  const int64_t before = storage_statistics().pool_bytes;
  std::vector<std::shared_ptr<Storage>> kept, converted;
  for (int i = 0; i < 8; ++i) {
    kept.push_back(Storage::allocate(1 << 20));
    converted.push_back(Storage::allocate(2 << 20));
  }
  converted.clear();
  release_unused_storage();
  EXPECT_GE(storage_statistics().pool_bytes - before, 8 << 20);
  EXPECT_LT(storage_statistics().pool_bytes - before, 9 << 20) << "with what the address sanitizer guards";
  for (const auto& block : kept) std::fill_n(block->data(), block->bytes(), std::byte{1});
}

TEST(Storage, TooSmallRangesDoNotAccumulateWhereSizesGrow) {
  release_unused_storage();
  Tensor cache;
  for (int64_t n = 1 << 16; n < 1 << 22; n += n / 8) {
    const Tensor longer = Tensor::empty({n});
    cache = longer;
    const StorageStatistics now = storage_statistics();
    ASSERT_LE(now.pool_bytes, now.peak_bytes + now.peak_bytes / 4 + (16 << 20)) << n;
  }
  EXPECT_LT(storage_statistics().pool_bytes, 80 << 20) << "all of them together are 145 MiB";
}

TEST(Storage, CountsUsedBytesAndReturnsFreeMemoryToTheSystem) {
  release_unused_storage();
  const StorageStatistics before = storage_statistics();
  {
    const auto storage = Storage::allocate(1'000'000);
    const StorageStatistics during = storage_statistics();
    EXPECT_GE(during.used_bytes, before.used_bytes + 1'000'000);
    EXPECT_LE(during.used_bytes, before.used_bytes + 1'130'000) << "at most an eighth more";
    EXPECT_GE(during.peak_bytes, during.used_bytes);
  }
  EXPECT_EQ(storage_statistics().used_bytes, before.used_bytes);
  EXPECT_GT(storage_statistics().pool_bytes, before.pool_bytes) << "kept for reuse";
  release_unused_storage();
  EXPECT_EQ(storage_statistics().pool_bytes, before.pool_bytes);
}

TEST(Storage, BorrowedMemoryKeepsItsOwnerAndItsProtection) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3});
  const std::weak_ptr<std::vector<float>> watch = owner;
  const int64_t used = storage_statistics().used_bytes;
  Tensor x = Tensor::view(Storage::borrow(owner->data(), 12, owner, false), DType::f32, {3}, {1});
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(storage_statistics().used_bytes, used) << "it is not the pool's";
  EXPECT_EQ(std::as_const(x).data<float>()[2], 3);
  EXPECT_THROW(x.data<float>(), Error);
  EXPECT_THROW(x.fill(0), Error);
  EXPECT_THROW(x.copy_from(Tensor::zeros({3})), Error);
  Tensor copy = x.clone();
  copy.fill(0);
  EXPECT_EQ(x.at<float>({0}), 1);
  x = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(Storage, RejectsImpossibleSizes) {
  EXPECT_THROW(Storage::allocate(-1), Error);
  EXPECT_THROW(Storage::allocate(int64_t{1} << 60), Error);
}

TEST(Storage, ThreadsShareThePool) {
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t)
    team.emplace_back([t] {
      for (int i = 0; i < 2000; ++i) {
        Tensor x = Tensor::empty({100 + i % 7});
        x.fill(static_cast<float>(t));
        const std::span<const float> values = std::as_const(x).span<float>();
        for (const float value : values) ASSERT_EQ(value, static_cast<float>(t));
      }
    });
  for (std::thread& thread : team) thread.join();
}

// The gradient of a large weight, which comes when others have taken what was free before. After the other tests: what the pool
// may keep depends on the most that was ever used.
TEST(Storage, AVeryLargeTensorOfAStepFindsItsMemoryInTheNextOne) {
  release_unused_storage();
  const std::shared_ptr<Storage> model = Storage::allocate(600 << 20);  // never written: takes no memory
  const auto step = [](int64_t bytes) {
    std::vector<std::shared_ptr<Storage>> kept;
    for (int i = 0; i < 30; ++i) kept.push_back(Storage::allocate(bytes));
    kept.push_back(Storage::allocate(60 << 20));
  };
  step(4 << 20);
  const StorageStatistics before = storage_statistics();
  step(5 << 20);
  const int64_t more = storage_statistics().pool_bytes - before.pool_bytes;
  EXPECT_LE(more, 40 << 20) << "that of the small ones, not the large one again";
  step(4 << 20);
  step(5 << 20);
  EXPECT_EQ(storage_statistics().pool_bytes, before.pool_bytes + more);
}

}  // namespace qkv::storage_test
