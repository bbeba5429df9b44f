#include "qkv/tensor/half.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace qkv::half_test {
namespace {

TEST(Half, EveryHalfReturnsFromFloat) {
  for (uint32_t half = 0; half < 0x10000; ++half) {
    const auto bits = static_cast<uint16_t>(half);
    const float x = float_of_half(bits);
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(float_of_half(half_of_float(x)))) << half;
    else
      EXPECT_EQ(half_of_float(x), bits) << half;
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  for (uint32_t half = 0; half < 0x7c00; ++half) {
    const auto low = static_cast<uint16_t>(half), high = static_cast<uint16_t>(half + 1),
               even = static_cast<uint16_t>(half + (half & 1));
    // The number after the largest half would be 2^16.
    const float middle = half == 0x7bff ? 65520.f : (float_of_half(low) + float_of_half(high)) / 2;
    EXPECT_EQ(half_of_float(middle), even) << half;
    EXPECT_EQ(half_of_float(std::nextafter(middle, 0.f)), low) << half;
    EXPECT_EQ(half_of_float(std::nextafter(middle, 1e9f)), high) << half;
    EXPECT_EQ(half_of_float(-middle), even | 0x8000) << half;
  }
  EXPECT_EQ(half_of_float(std::numeric_limits<float>::max()), 0x7c00);
  EXPECT_EQ(half_of_float(std::numeric_limits<float>::denorm_min()), 0);
}

}  // namespace
}  // namespace qkv::half_test
