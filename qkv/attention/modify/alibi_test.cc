#include "qkv/attention/modify/alibi.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv {
namespace {

TEST(AlibiSlopes, AreAGeometricSequenceForPowersOfTwo) {
  EXPECT_EQ(alibi_slopes(1), (std::vector<float>{1.0f / 256}));
  EXPECT_EQ(alibi_slopes(8),
            (std::vector<float>{0.5f, 0.25f, 0.125f, 0.0625f, 0.03125f, 0.015625f, 0.0078125f, 0.00390625f}));
}

TEST(AlibiSlopes, TakeEveryOtherOfTheNextPowerForTheRest) {
  const auto of_8 = [](double n) { return static_cast<float>(std::exp2(-n / 2)); };  // 2^(-8 n / 16)
  std::vector<float> wanted = alibi_slopes(8);
  for (const double n : {1, 3, 5, 7}) wanted.push_back(of_8(n));
  EXPECT_EQ(alibi_slopes(12), wanted);
  EXPECT_EQ(alibi_slopes(3), (std::vector<float>{0.0625f, 0.00390625f, 0.25f}));
  EXPECT_THROW(alibi_slopes(0), Error);
}

}  // namespace
}  // namespace qkv
