// The masks for long sequences, compared with their rules.
#include <cstdlib>
#include <numeric>
#include <set>

#include "qkv/attention/explain.h"
#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/attention/mask/strided.h"
#include "qkv/test_support/check_mask.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::sparse_test {

using namespace test;

TEST(GlobalPositions, SeeAllKeysAndAreSeenByAllQueries) {
  for (const std::vector<int64_t>& list : std::vector<std::vector<int64_t>>{{}, {0}, {90, 3, 3, 4, 64}, {1000}}) {
    const std::set<int64_t> positions(list.begin(), list.end());
    for (const AttentionShape& n : mask_shapes()) {
      const auto is_global = [&](int64_t i, int64_t j) {
        return positions.contains(n.position(i)) || positions.contains(j);
      };
      check_mask(global_positions(list), n, [&](auto, auto, int64_t i, int64_t j) { return is_global(i, j); });
      expect_exact_keys(global_positions(list), n,
                        [&](auto, auto, int64_t i, int64_t j) { return is_global(i, j); });
      check_mask(causal() & longformer(5, list), n, [&](auto, auto, int64_t i, int64_t j) {
        const int64_t p = n.position(i);
        return j <= p && (std::abs(p - j) <= 5 || is_global(i, j));
      });
    }
  }
  EXPECT_EQ(error_of([] {
              global_positions({3, -1});
            }),
            "global_positions: positions must not be negative, got -1");
}

TEST(Every, DilatedAndStridedEqualTheirRules) {
  for (const AttentionShape& n : mask_shapes()) {
    for (const int64_t step : {1, 2, 7, 100}) {
      check_mask(every(step), n, [&](auto, auto, int64_t i, int64_t j) { return (n.position(i) - j) % step == 0; });
      check_mask(dilated(3, step), n, [&](auto, auto, int64_t i, int64_t j) {
        const int64_t distance = n.position(i) - j;
        return std::abs(distance) <= 3 * step && distance % step == 0;
      });
      check_mask(strided(step), n, [&](auto, auto, int64_t i, int64_t j) {
        const int64_t distance = n.position(i) - j;
        return distance >= 0 && (distance < step || distance % step == 0);
      });
    }
  }
}

TEST(BigBird, HasWindowGlobalAndRandomBlocks) {
  const BigBirdOptions options = {
      .block = 4, .window_blocks = 3, .global_blocks = {0, -1}, .random_blocks = 3, .heads = 2};
  const int64_t n = 100;
  const Tensor table = bigbird_table(4 * n - 1, options);
  ASSERT_EQ(table.shape(), (Shape{1, 2, n, n}));
  int64_t drawn = 0, differ = 0;
  for (int64_t i = 0; i < n; ++i) {
    int64_t before = 0;
    for (int64_t j = 0; j < n; ++j) {
      const bool sees = table.at<uint8_t>({0, 0, i, j}) != 0;
      const bool must = std::abs(i - j) <= 1 || i % (n - 1) == 0 || j % (n - 1) == 0;
      EXPECT_TRUE(sees || !must) << i << " " << j;
      EXPECT_EQ(sees, table.at<uint8_t>({0, 0, j, i}) != 0) << i << " " << j;
      drawn += sees && !must;
      before += sees && !must && j < i;
      differ += sees != (table.at<uint8_t>({0, 1, i, j}) != 0);
    }
    if (i > 4 && i < n - 1) {
      EXPECT_EQ(before, i % 2 == 0 ? 1 : 2) << "row " << i;
    }
  }
  EXPECT_NEAR(static_cast<double>(drawn) / static_cast<double>(n), 3.0, 0.2) << "random blocks per row";
  EXPECT_GT(differ, 0) << "each head draws its own blocks";
  EXPECT_EQ(error_of([] { bigbird({.window_blocks = 2}); }),
            "bigbird: window_blocks must be odd and positive, got 2");
}

TEST(BigBird, TheMaskEqualsItsTable) {
  for (const AttentionShape& n : mask_shapes())
    for (const int64_t block : {1, 3, 16}) {
      const BigBirdOptions options = {.block = block, .window_blocks = 1, .random_blocks = 4, .heads = n.H};
      const Tensor table = bigbird_table(std::max(n.T, n.S), options);
      check_mask(bigbird(options), n, [&](auto, int64_t h, int64_t i, int64_t j) {
        const int64_t p = n.position(i);
        return p < 0 ? j < block : table.at<uint8_t>({0, h, p / block, j / block}) != 0;
      });
    }
}

TEST(BigBird, DrawsTheSameForAnyLength) {
  const BigBirdOptions options = {.block = 2, .random_blocks = 3};
  const Tensor whole = bigbird_table(80, options);
  for (const int64_t length : {1, 9, 40, 79}) {
    const Tensor part = bigbird_table(length, options);
    for (int64_t i = 0; i < part.dim(2); ++i)
      for (int64_t j = 0; j < part.dim(3); ++j)
        ASSERT_EQ(part.at<uint8_t>({0, 0, i, j}), whole.at<uint8_t>({0, 0, i, j})) << i << " " << j;
  }
}

TEST(Longformer, CostsLittleMoreThanItsVisiblePairs) {
  const int64_t T = 4096;
  const Tensor x = Tensor::zeros({1, 1, 1, 1}).expand({1, 1, T, 64});
  const AttentionPlan plan = attention_plan(x, x, x, {.mask = longformer(256, {0, 1, 2, 3})});
  EXPECT_LT(plan.tile_flops, 1.1 * plan.flops);
}

}  // namespace qkv::sparse_test
