#include "qkv/layer/attention_cache.h"

#include <gtest/gtest.h>

#include "qkv/layer/mechanism/multi_token.h"
#include "qkv/layer/mechanism/rotary.h"
#include "qkv/test_support/tensors.h"

namespace qkv::attention_cache_test {

using namespace test;

// Numbers of rows.
struct Numbers {
  std::vector<int> of_rows;
  explicit Numbers(std::vector<int> numbers) : of_rows(std::move(numbers)) {}
  void reorder(std::span<const int64_t> source) {
    std::vector<int> reordered;
    for (const int64_t row : source) reordered.push_back(of_rows[static_cast<size_t>(row)]);
    of_rows = std::move(reordered);
  }
};

TEST(AttentionCache, KeepsAStateForEachMechanism) {
  const AttentionMechanismPtr a = mechanism_of(MultiToken{}), b = mechanism_of(Rotary{});
  AttentionCache cache;
  cache.of<Numbers>(*a, std::vector{1, 2, 3}).of_rows[1] = 7;
  cache.of<Numbers>(*b, std::vector{4, 5, 6});
  EXPECT_EQ(cache.of<Numbers>(*a, std::vector{0}).of_rows, (std::vector{1, 7, 3})) << "made once";
  cache.reorder(std::vector<int64_t>{1, 1, 0});
  EXPECT_EQ(cache.of<Numbers>(*a, std::vector{0}).of_rows, (std::vector{7, 7, 1}));
  EXPECT_EQ(cache.of<Numbers>(*b, std::vector{0}).of_rows, (std::vector{5, 5, 4}));
}

TEST(AttentionCache, ACopyHasStatesOfItsOwn) {
  const AttentionMechanismPtr a = mechanism_of(MultiToken{});
  AttentionCache cache;
  cache.of<Numbers>(*a, std::vector{1, 2});
  cache.advance(3);
  AttentionCache copy = cache, assigned;
  assigned = cache;
  copy.of<Numbers>(*a, std::vector{0}).of_rows[0] = 9;
  copy.reorder(std::vector<int64_t>{0});
  EXPECT_EQ(cache.of<Numbers>(*a, std::vector{0}).of_rows, (std::vector{1, 2}));
  EXPECT_EQ(assigned.of<Numbers>(*a, std::vector{0}).of_rows, (std::vector{1, 2}));
  EXPECT_EQ(copy.of<Numbers>(*a, std::vector{0}).of_rows, (std::vector{9}));
  EXPECT_EQ(copy.length(), 3);
}

TEST(AttentionCache, HasTheLengthOfWhatJoinedIt) {
  AttentionCache cache;
  EXPECT_EQ(cache.length(), 0);
  cache.advance(4);
  cache.advance(1);
  cache.reorder({});
  EXPECT_EQ(cache.length(), 5);
}

TEST(AttentionCache, GoesBackIfAllOfItsStatesCan) {
  const AttentionMechanismPtr a = mechanism_of(MultiToken{}), b = mechanism_of(Rotary{});
  AttentionCache cache;
  const Tensor x = random_tensor({1, 2, 5, 4}, 1);
  cache.keys.append(x, x);
  cache.of<KeyValueCache>(*a).append(x.slice(2, 0, 3), x.slice(2, 0, 3));
  cache.advance(5);
  EXPECT_TRUE(cache.can_truncate());
  EXPECT_TRUE(cache.takes_several());
  cache.truncate(4);
  EXPECT_EQ(cache.length(), 4);
  EXPECT_EQ(cache.keys.length(), 4);
  EXPECT_EQ(cache.of<KeyValueCache>(*a).length(), 3) << "a state may have fewer positions";
  cache.truncate(2);
  EXPECT_EQ(cache.of<KeyValueCache>(*a).length(), 2);
  EXPECT_FALSE(cache.takes_several()) << "the state has all positions";
  cache.of<Numbers>(*b, std::vector{1});
  EXPECT_FALSE(cache.can_truncate());
  EXPECT_THROW(cache.truncate(1), Error);
  cache.truncate(0);
  EXPECT_EQ(cache.length(), 0);
  EXPECT_EQ(cache.of<Numbers>(*b, std::vector{8}).of_rows, (std::vector{8})) << "begins again";
}

}  // namespace qkv::attention_cache_test
