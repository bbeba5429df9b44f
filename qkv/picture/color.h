// Colours of weights, perceptually even: equal steps of a weight are equal steps to the eye. The anchors are
// interpolated in Oklab (Ottosson, 2020), whose first axis is lightness.
//
//     ColorScale scale = ColorScale::of(0.0f, 0.93f);
//     std::string fill = hex(scale.color(0.5f));            // a blue
//
// Weights >= 0 go from white (zero) to a deep indigo; where some are negative, white is still zero, and red is
// below it. For a dark page the sequence runs from the page's own darkness to light.
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

  // Holds all of [smallest, largest]: high is rounded up to two digits, so that its label is short and true. It is
  // at least the smallest normal float and at most half of the largest, so that high - low is a number to divide
  // by.
  static ColorScale of(float smallest, float largest);

  // Outside of the scale, its nearest end.
  Color color(float weight, Theme theme = Theme::light) const;
};

}  // namespace qkv
