// The patterns of long sequences, against their rules.
#include <cstdlib>
#include <numeric>
#include <set>

#include "qkv/attention/explain.h"
#include "qkv/attention/mask/bigbird.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/check_mask_test.h"
#include "qkv/attention/mask/dilated.h"
#include "qkv/attention/mask/every.h"
#include "qkv/attention/mask/longformer.h"
#include "qkv/attention/mask/strided.h"
#include "qkv/autograd/gradient_check_test.h"

namespace qkv {
namespace {

using namespace test;

TEST(Global, SeesAllAndIsSeenByAll) {
  for (const std::vector<int64_t>& list : std::vector<std::vector<int64_t>>{{}, {0}, {90, 3, 3, 4, 64}, {1000}}) {
    const std::set<int64_t> positions(list.begin(), list.end());
    for (const AttentionShape& n : mask_shapes()) {
      const auto is_global = [&](int64_t i, int64_t j) {
        return positions.contains(n.position(i)) || positions.contains(j);
      };
      check_mask(global(list), n, [&](auto, auto, int64_t i, int64_t j) { return is_global(i, j); });
      expect_exact_keys(global(list), n, [&](auto, auto, int64_t i, int64_t j) { return is_global(i, j); });
      check_mask(causal() & longformer(5, list), n, [&](auto, auto, int64_t i, int64_t j) {
        const int64_t p = n.position(i);
        return j <= p && (std::abs(p - j) <= 5 || is_global(i, j));
      });
    }
  }
  EXPECT_EQ(error_of([] { global({3, -1}); }), "global: positions count from 0, got -1");
}

TEST(Every, DilatedAndStridedAreTheirRules) {
  for (const AttentionShape& n : mask_shapes()) {
    for (const int64_t step : {1, 2, 7, 100}) {
      check_mask(every(step), n, [&](auto, auto, int64_t i, int64_t j) { return (n.position(i) - j) % step == 0; });
      check_mask(dilated(3, step), n, [&](auto, auto, int64_t i, int64_t j) {
        const int64_t far = n.position(i) - j;
        return std::abs(far) <= 3 * step && far % step == 0;
      });
      check_mask(strided(step), n, [&](auto, auto, int64_t i, int64_t j) {
        const int64_t far = n.position(i) - j;
        return far >= 0 && (far < step || far % step == 0);
      });
    }
  }
}

TEST(BigBird, HasWindowGlobalAndRandomBlocks) {
  const BigBird options = {
      .block = 16, .window_blocks = 3, .global_blocks = {0, -1}, .random_blocks = 2, .heads = 2};
  const Tensor table = bigbird_table(200, options);  // 13 blocks
  ASSERT_EQ(table.shape(), (Shape{1, 2, 13, 13}));
  int64_t differ = 0;
  for (int64_t i = 0; i < 13; ++i) {
    int64_t drawn = 0;
    for (int64_t j = 0; j < 13; ++j) {
      const bool sees = table.at<uint8_t>({0, 0, i, j}) != 0;
      const bool must = std::abs(i - j) <= 1 || i % 12 == 0 || j % 12 == 0;
      EXPECT_TRUE(sees || !must) << i << " " << j;
      drawn += sees && !must;
      differ += sees != (table.at<uint8_t>({0, 1, i, j}) != 0);
    }
    EXPECT_EQ(drawn, i % 12 == 0 ? 0 : 2) << "row " << i;
  }
  EXPECT_GT(differ, 0) << "heads draw for themselves";
  EXPECT_EQ(error_of([] { bigbird(100, {.global_blocks = {2}}); }),
            "bigbird: global block 2 is none of 2 blocks of 64 positions");
  EXPECT_EQ(error_of([] { bigbird(100, {.window_blocks = 2}); }), "bigbird: window_blocks is an odd number, got 2");
}

TEST(Longformer, CostsWhatItSees) {
  const int64_t T = 4096;
  const Tensor x = Tensor::zeros({1, 1, 1, 1}).expand({1, 1, T, 64});
  const AttentionPlan plan = attention_plan(x, x, x, {.mask = longformer(256, {0, 1, 2, 3})});
  EXPECT_LT(plan.tile_flops, 1.1 * plan.flops);
}

}  // namespace
}  // namespace qkv
