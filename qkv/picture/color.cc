#include "qkv/picture/color.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>

namespace qkv {
namespace {

// Lightness and the two opponent axes, green-red and blue-yellow.
struct Oklab {
  double lightness, a, b;
};

// From lightness 0..1, chroma, and hue in degrees.
Oklab lch(double lightness, double chroma, double hue) {
  const double radians = hue * std::numbers::pi / 180;
  return {lightness, chroma * std::cos(radians), chroma * std::sin(radians)};
}

uint8_t channel(double linear) {  // the transfer function of sRGB
  const double x = std::clamp(linear, 0.0, 1.0);
  const double coded = x <= 0.0031308 ? 12.92 * x : 1.055 * std::pow(x, 1 / 2.4) - 0.055;
  return static_cast<uint8_t>(std::lround(255 * coded));
}

Color to_srgb(const Oklab& x) {
  const double l = std::pow(x.lightness + 0.3963377774 * x.a + 0.2158037573 * x.b, 3);
  const double m = std::pow(x.lightness - 0.1055613458 * x.a - 0.0638541728 * x.b, 3);
  const double s = std::pow(x.lightness - 0.0894841775 * x.a - 1.2914855480 * x.b, 3);
  return {channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          channel(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

// Anchors with uniform steps of lightness; the hue changes to separate them.
const std::array<Oklab, 5>& anchors(bool negative, Theme theme) {
  static const std::array<Oklab, 5> light = {lch(1.0, 0.0, 190), lch(0.835, 0.085, 195), lch(0.67, 0.12, 225),
                                             lch(0.505, 0.15, 258), lch(0.33, 0.13, 282)};
  static const std::array<Oklab, 5> light_negative = {lch(1.0, 0.0, 60), lch(0.835, 0.09, 55), lch(0.67, 0.16, 42),
                                                      lch(0.505, 0.17, 30), lch(0.35, 0.13, 22)};
  static const std::array<Oklab, 5> dark = {lch(0.235, 0.02, 280), lch(0.41, 0.13, 275), lch(0.59, 0.14, 245),
                                            lch(0.77, 0.12, 205), lch(0.955, 0.06, 170)};
  static const std::array<Oklab, 5> dark_negative = {
      lch(0.235, 0.02, 280), lch(0.41, 0.12, 15), lch(0.59, 0.16, 35), lch(0.77, 0.13, 60), lch(0.955, 0.05, 95)};
  if (theme == Theme::light) return negative ? light_negative : light;
  return negative ? dark_negative : dark;
}

}  // namespace

bool Color::dark() const { return 0.299 * red + 0.587 * green + 0.114 * blue < 150; }

std::string hex(Color color) { return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue); }

ColorScale ColorScale::of(float smallest, float largest) {
  const double largest_magnitude = std::max(-static_cast<double>(smallest), static_cast<double>(largest));
  if (largest_magnitude <= 0) return {};
  const double unit = std::pow(10, std::floor(std::log10(largest_magnitude)) - 1);
  // A magnitude that has two digits up to float rounding is not rounded up.
  const double rounded = std::ceil(largest_magnitude / unit - 1e-5) * unit;
  using Limits = std::numeric_limits<float>;
  const auto high = static_cast<float>(std::clamp<double>(rounded, Limits::min(), Limits::max() / 2));
  return {smallest < 0 ? -high : 0.0f, high};
}

Color ColorScale::color(float weight, Theme theme) const {
  const auto& stops = anchors(weight < 0, theme);
  const double at = std::clamp(std::abs(static_cast<double>(weight)) / high, 0.0, 1.0) * (stops.size() - 1);
  const size_t i = std::min(static_cast<size_t>(at), stops.size() - 2);
  const double t = at - static_cast<double>(i);
  const auto mix = [t](double x, double y) { return x + t * (y - x); };
  return to_srgb({mix(stops[i].lightness, stops[i + 1].lightness), mix(stops[i].a, stops[i + 1].a),
                  mix(stops[i].b, stops[i + 1].b)});
}

}  // namespace qkv
