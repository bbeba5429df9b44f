#include "qkv/base/random.h"

#include <gtest/gtest.h>

namespace qkv::random_test {

// Known answers of Random123's own test vectors.
TEST(Random, PhiloxGivesThePublishedNumbers) {
  const auto zero = philox(0, 0, 0);
  EXPECT_EQ(zero[0], 0x6627e8d5u);
  EXPECT_EQ(zero[1], 0xe169c58du);
  EXPECT_EQ(zero[2], 0xbc57ac4cu);
  EXPECT_EQ(zero[3], 0x9b00dbd8u);
}

TEST(Random, SeekGoesBackToAnyPosition) {
  Random random(5, 9);
  for (int i = 0; i < 7; ++i) random.uniform();
  const uint64_t at = random.position();
  const double x = random.uniform();
  random.seek(at);
  EXPECT_EQ(random.uniform(), x);
}

}  // namespace qkv::random_test
