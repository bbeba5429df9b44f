#include "qkv/kernel/format/scale_search.h"

#include <algorithm>
#include <cmath>

#include "qkv/kernel/format/block.h"

namespace qkv {
namespace {

// How much wider or narrower than the range of x its rounding may be, in steps of the integers.
constexpr float widths[] = {0,    -0.9f, -0.75f, -0.6f, -0.45f, -0.3f, -0.2f, -0.1f,
                            0.1f, 0.2f,  0.3f,   0.45f, 0.6f,   0.75f, 0.9f};

// The min_error-squares scale for x rounded with the scale 1 / inverse, and how much of sum w x^2 it explains.
struct Fit {
  float scale = 0, explained = 0;
};
Fit fit_to(const float* x, const float* w, int n, float inverse, CodeRange range) {
  float xq = 0, qq = 0;
  for (int i = 0; i < n; ++i) {
    const auto q = static_cast<float>(nearest_within(x[i] * inverse, range.low, range.high));
    xq += w[i] * x[i] * q;
    qq += w[i] * q * q;
  }
  if (!(qq > 0)) return {};
  return {xq / qq, xq / qq * xq};
}

}  // namespace

Importance::Importance(const float* x, int n) {
  float squares = 0;
  for (int i = 0; i < n; ++i) squares += x[i] * x[i];
  const float mean = std::sqrt(squares / static_cast<float>(n));
  for (int i = 0; i < n; ++i) weights_[static_cast<size_t>(i)] = std::fabs(x[i]) + mean;
}

bool fits_search(float largest_magnitude) { return largest_magnitude <= 0x1p30f; }
bool is_zero_in_blocks(float largest_magnitude) { return largest_magnitude < 0x1p-30f; }

float scale_for(const float* x, const float* w, int n, CodeRange range) {
  const float largest = largest_with_sign(x, n);
  if (is_zero_in_blocks(std::fabs(largest))) return 0;
  Fit best;
  // The number of the largest magnitude may be at either end of the range.
  for (const int end : {range.low, range.high})
    for (const float width : widths) {
      const float inverse = (static_cast<float>(end) + (end < 0 ? -width : width)) / largest;
      Fit fit = fit_to(x, w, n, inverse, range);
      if (fit.explained > best.explained) best = fit;
    }
  if (best.scale != 0) {  // rounded once more with the best scale itself
    const Fit again = fit_to(x, w, n, 1 / best.scale, range);
    if (again.explained > best.explained) best = again;
  }
  return best.scale;
}

ScaleAndOffset scale_and_offset_for(const float* x, const float* w, int n, int high) {
  const auto [low_at, high_at] = std::minmax_element(x, x + n);
  const float low = std::min(*low_at, 0.f), top = std::max(*high_at, 0.f);
  if (is_zero_in_blocks(top - low)) return {};
  const CodeRange range{0, high};
  ScaleAndOffset best{(top - low) / static_cast<float>(high), -low};
  float min_error = error_of(x, w, n, best, range);
  float sw = 0, sx = 0;
  for (int i = 0; i < n; ++i) sw += w[i], sx += w[i] * x[i];
  // x ~ scale q - offset in min_error squares, for x rounded with `rounded`.
  const auto try_rounding = [&](ScaleAndOffset rounded) {
    const float inverse = inverse_or_zero(rounded.scale);
    float sq = 0, sxq = 0, sqq = 0;
    for (int i = 0; i < n; ++i) {
      const auto q = static_cast<float>(nearest_within((x[i] + rounded.offset) * inverse, 0, high));
      sq += w[i] * q;
      sxq += w[i] * x[i] * q;
      sqq += w[i] * q * q;
    }
    const float determinant = sw * sqq - sq * sq;
    if (!(determinant > 0) || !(sqq > 0)) return;
    ScaleAndOffset s{(sw * sxq - sx * sq) / determinant, (sq * sxq - sqq * sx) / determinant};
    if (s.offset < 0) s = {sxq / sqq, 0};
    if (!(s.scale > 0)) return;
    const float error = error_of(x, w, n, s, range);
    if (error < min_error) best = s, min_error = error;
  };
  for (const float width : widths) try_rounding({(top - low) / (static_cast<float>(high) + width), -low});
  try_rounding(best);
  return best;
}

float error_of(const float* x, const float* w, int n, ScaleAndOffset s, CodeRange range) {
  const float inverse = inverse_or_zero(s.scale);
  float sum = 0;
  for (int i = 0; i < n; ++i) {
    const auto q = static_cast<float>(nearest_within((x[i] + s.offset) * inverse, range.low, range.high));
    const float difference = x[i] - (s.scale * q - s.offset);
    sum += w[i] * difference * difference;
  }
  return sum;
}

int nearest_code(float x, ScaleAndOffset s, CodeRange range) {
  return nearest_within((x + s.offset) * inverse_or_zero(s.scale), range.low, range.high);
}

}  // namespace qkv
