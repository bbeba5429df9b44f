#include "qkv/kernel/format/signed_parts.h"

namespace qkv {
namespace {

// The best of the integers next to the exact scale of a part.
int best_code(const float* x, const float* w, const SignedParts& layout, float exact, float d) {
  const int near = nearest_within(exact * inverse_or_zero(d), layout.scales.low, layout.scales.high);
  int best = near;
  float min_error = -1;
  for (const int code : {near, near - 1, near + 1}) {
    if (code < layout.scales.low || code > layout.scales.high) continue;
    const float error = error_of(x, w, 16, {d * static_cast<float>(code), 0}, layout.numbers);
    if (min_error < 0 || error < min_error) best = code, min_error = error;
  }
  return best;
}

}  // namespace

bool encode_parts(const float* x, const SignedParts& layout, BlockNumbers& to) {
  const float largest = largest_magnitude(x, 256);
  to = {};
  std::fill(std::begin(to.numbers), std::end(to.numbers), static_cast<uint8_t>(-layout.numbers.low));
  if (!fits_search(largest)) return false;
  if (is_zero_in_blocks(largest)) return to.d.store(0);
  std::array<float, 16> exact = {};
  for (int p = 0; p < 16; ++p) {
    const float* part = x + 16 * p;
    exact[static_cast<size_t>(p)] = scale_for(part, Importance(part, 16).data(), 16, layout.numbers);
  }
  // The largest scale gets the lower end of the range, which is one farther from zero than the upper.
  if (!to.d.store(largest_with_sign(exact.data(), 16) / static_cast<float>(layout.scales.low))) return false;
  const float d = to.d.value();
  for (int p = 0; p < 16; ++p) {
    const float* part = x + 16 * p;
    const int code = best_code(part, Importance(part, 16).data(), layout, exact[static_cast<size_t>(p)], d);
    to.scales[p] = static_cast<int8_t>(code);
    for (int i = 0; i < 16; ++i)
      to.numbers[16 * p + i] = static_cast<uint8_t>(
          nearest_code(part[i], {d * static_cast<float>(code), 0}, layout.numbers) - layout.numbers.low);
  }
  return true;
}

}  // namespace qkv
