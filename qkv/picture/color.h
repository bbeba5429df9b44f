// Colors of weights, perceptually uniform: interpolated in Oklab (Ottosson, 2020), whose first axis is lightness.
//
//     ColorScale scale = ColorScale::of(0.0f, 0.93f);
//     std::string fill = hex(scale.color(0.5f));            // a blue
//
// From white (zero) to dark blue for positive weights and to dark red for negative ones: darker is larger. For a
// dark page from the dark background (zero) to light colors.
#pragma once

#include <cstdint>
#include <string>

namespace qkv {

struct Color {
  uint8_t red = 0, green = 0, blue = 0;
  bool dark() const;  // whether white text reads better on it than black
};

std::string hex(Color color);

enum class Theme { light, dark };

struct ColorScale {
  float low = 0, high = 1;  // low is 0 or -high

  // Contains [smallest, largest]; high is rounded up to two digits for a short label. It is at least the smallest
  // normal float and at most half of the largest, so that high - low is finite and not zero.
  static ColorScale of(float smallest, float largest);

  // Clamped to the scale.
  Color color(float weight, Theme theme = Theme::light) const;
};

}  // namespace qkv
