#include "qkv/picture/color.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace qkv::color_test {

// The lightness L* of CIE 1976, from the definition of sRGB.
double lightness(Color color) {
  const auto linear = [](uint8_t channel) {
    const double x = channel / 255.0;
    return x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  const double y = 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
  return y > 0.008856 ? 116 * std::cbrt(y) - 16 : 903.3 * y;
}

TEST(Color, ZeroIsWhiteAndEqualStepsLookEqual) {
  const ColorScale scale;
  EXPECT_EQ(hex(scale.color(0)), "#ffffff");
  constexpr int steps = 10;
  const double mean = (lightness(scale.color(1)) - lightness(scale.color(0))) / steps;
  for (int i = 0; i < steps; ++i) {
    const double step = lightness(scale.color((i + 1.0f) / steps)) - lightness(scale.color(float(i) / steps));
    EXPECT_LT(step, 0.6 * mean) << i;  // both are negative: darker with every step
    EXPECT_GT(step, 1.5 * mean) << i;
  }
  EXPECT_TRUE(scale.color(1).dark());
  EXPECT_FALSE(scale.color(0.1f).dark());
}

TEST(Color, OnADarkPageMoreIsLighter) {
  const ColorScale scale;
  EXPECT_TRUE(scale.color(0, Theme::dark).dark());
  for (int i = 0; i < 10; ++i)
    EXPECT_LT(lightness(scale.color(float(i) / 10, Theme::dark)),
              lightness(scale.color((i + 1.0f) / 10, Theme::dark)));
}

TEST(Color, BelowZeroIsRed) {
  const ColorScale scale = ColorScale::of(-0.5f, 0.25f);
  EXPECT_EQ(scale.low, -0.5f);
  EXPECT_EQ(scale.high, 0.5f);
  const Color below = scale.color(-0.4f), above = scale.color(0.4f);
  EXPECT_GT(below.red, below.blue);
  EXPECT_LT(above.red, above.blue);
}

TEST(Color, TheScaleHoldsAllWeightsAndEndsAtAShortNumber) {
  EXPECT_EQ(ColorScale::of(0, 0.123f).high, 0.13f);
  EXPECT_EQ(ColorScale::of(0, 0.7f).high, 0.7f);
  EXPECT_EQ(ColorScale::of(0, 1.0000001f).high, 1.0f);
  EXPECT_EQ(ColorScale::of(0, 251).high, 260.0f);
  EXPECT_EQ(ColorScale::of(0, 0).high, 1.0f);
  EXPECT_EQ(hex(ColorScale().color(7)), hex(ColorScale().color(1)));
}

TEST(ColorScale, DividesByItsLengthWhateverTheWeights) {
  constexpr float largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::denorm_min();
  for (const float low : {0.0f, -smallest, -1.0f, -largest})
    for (const float high : {0.0f, smallest, 1e-38f, 1.0f, 2e38f, largest}) {
      const ColorScale scale = ColorScale::of(low, high);
      EXPECT_TRUE(std::isnormal(scale.high - scale.low)) << low << " " << high;
      EXPECT_GT(1 / scale.high, 0) << low << " " << high;
      EXPECT_EQ(hex(scale.color(largest)), hex(scale.color(scale.high)));
    }
}

}  // namespace qkv::color_test
