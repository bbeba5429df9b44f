#include "qkv/attention/mask/causal.h"

#include "qkv/test_support/check_mask.h"

namespace qkv::causal_test {

using namespace test;

TEST(Causal, TheLastQuerySeesTheLastKey) {
  for (const AttentionShape& n : mask_shapes())
    check_mask(causal(), n, [&](auto, auto, int64_t i, int64_t j) { return j <= i + n.S - n.T; });
}

TEST(Causal, TakesAnOffset) {
  for (const AttentionShape& n : mask_shapes())
    for (const int64_t offset : {0, 3, -5, 1000, -1000})
      check_mask(causal(offset), n, [&](auto, auto, int64_t i, int64_t j) { return j <= i + offset; });
}

TEST(Causal, SkipsMaskedTiles) {
  const AttentionShape n{.B = 1, .H = 1, .G = 1, .T = 256, .S = 256, .D = 4, .E = 4};
  const QueryBlock block{&n, 0, 0, 64, 64, 64};
  EXPECT_EQ(causal()->key_range(block).end, 128);
  EXPECT_EQ(causal()->classify({block, 0, 65}), Visibility::visible);
  EXPECT_EQ(causal()->classify({block, 0, 66}), Visibility::partial);
  EXPECT_EQ(causal()->classify({block, 127, 1}), Visibility::partial);
  EXPECT_EQ(causal()->classify({block, 128, 64}), Visibility::masked);
}

TEST(Causal, HasAName) {
  EXPECT_EQ(causal()->name(), "causal()");
  EXPECT_EQ(causal(3)->name(), "causal(3)");
}

}  // namespace qkv::causal_test
