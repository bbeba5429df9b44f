#include "qkv/tensor/free_ranges.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/random.h"

namespace qkv::free_ranges_test {

constexpr int64_t size = 1000;

class FreeRangesTest : public testing::Test {
 protected:
  std::vector<std::byte> memory_ = std::vector<std::byte>(size);
  std::byte* const begin_ = memory_.data();
  FreeRanges ranges_;
};

TEST_F(FreeRangesTest, TheSmallestThatSufficesIsTaken) {
  for (const auto& [first, bytes] : {std::pair{0, 300}, {400, 100}, {600, 200}})
    ranges_.give({begin_ + first, bytes});
  EXPECT_EQ(ranges_.take(301), nullptr);
  EXPECT_EQ(ranges_.take(100), begin_ + 400);
  EXPECT_EQ(ranges_.take(100), begin_ + 700) << "of 200";
  EXPECT_EQ(ranges_.take(100), begin_ + 600) << "the rest of it";
  EXPECT_EQ(ranges_.take(100), begin_ + 200) << "the end of 300";
  EXPECT_EQ(ranges_.bytes_from(begin_), 200);
  EXPECT_EQ(ranges_.bytes_from(begin_ + 1), 0);
  EXPECT_EQ(ranges_.bytes_from(begin_ + size), 0);
  EXPECT_EQ(ranges_.take_largest().bytes, 200);
  EXPECT_EQ(ranges_.take_largest().bytes, 0);
}

TEST_F(FreeRangesTest, NeighboursAreJoined) {
  ranges_.give({begin_, 100});
  ranges_.give({begin_ + 200, 100});
  EXPECT_EQ(ranges_.take(101), nullptr);
  ranges_.give({begin_ + 100, 100});
  ranges_.give({begin_ + 300, 10});
  EXPECT_EQ(ranges_.take_largest().bytes, 310);
}

// Random blocks never overlap, and all of the memory is one range when they are back.
TEST_F(FreeRangesTest, NothingIsLostOrGivenTwice) {
  Random random(1);
  std::vector<FreeRanges::Range> taken;
  std::vector<bool> used(size);
  const auto mark = [&](FreeRanges::Range range, bool now) {
    for (int64_t i = range.begin - begin_; i < range.end() - begin_; ++i) {
      ASSERT_NE(used[static_cast<size_t>(i)], now);
      used[static_cast<size_t>(i)] = now;
    }
  };
  ranges_.give({begin_, size});
  for (int i = 0; i < 5000; ++i) {
    const auto bytes = static_cast<int64_t>(1 + random.below(60));
    if (std::byte* const block = ranges_.take(bytes); block != nullptr) {
      taken.push_back({block, bytes});
      mark(taken.back(), true);
    }
    if (taken.empty() || random.below(2) == 0) continue;
    std::swap(taken[random.below(taken.size())], taken.back());
    mark(taken.back(), false);
    ranges_.give(taken.back());
    taken.pop_back();
  }
  EXPECT_GT(taken.size(), 5u);
  for (const FreeRanges::Range& range : taken) ranges_.give(range);
  EXPECT_EQ(ranges_.take(size), begin_);
}

}  // namespace qkv::free_ranges_test
