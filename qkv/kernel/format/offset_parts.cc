#include "qkv/kernel/format/offset_parts.h"

#include "qkv/kernel/format/scale_search.h"

namespace qkv {
namespace {

struct Codes {
  int scale, offset;
};

// The best of the integers next to the exact scale and offset.
Codes best_codes(const float* x, const float* w, const OffsetParts& layout, ScaleAndOffset exact, float d,
                 float dmin) {
  const Codes near{nearest_within(exact.scale * inverse_or_zero(d), 0, layout.highest),
                   nearest_within(exact.offset * inverse_or_zero(dmin), 0, layout.highest)};
  Codes best = near;
  float min_error = -1;
  for (const int scale : {near.scale, near.scale - 1, near.scale + 1})
    for (const int offset : {near.offset, near.offset - 1, near.offset + 1}) {
      if (scale < 0 || scale > layout.highest || offset < 0 || offset > layout.highest) continue;
      const ScaleAndOffset s{d * static_cast<float>(scale), dmin * static_cast<float>(offset)};
      const float error = error_of(x, w, layout.width, s, {0, layout.high});
      if (min_error < 0 || error < min_error) best = {scale, offset}, min_error = error;
    }
  return best;
}

}  // namespace

bool encode_parts(const float* x, const OffsetParts& layout, BlockNumbers& to) {
  const float largest = largest_magnitude(x, 256);
  to = {};
  if (!fits_search(largest)) return false;
  if (is_zero_in_blocks(largest)) return to.d.store(0) && to.minimum.store(0);
  std::array<ScaleAndOffset, 16> exact;
  ScaleAndOffset most;
  for (int p = 0; p < layout.parts; ++p) {
    const float* part = x + p * layout.width;
    const Importance w(part, layout.width);
    ScaleAndOffset& s = exact[static_cast<size_t>(p)];
    s = scale_and_offset_for(part, w.data(), layout.width, layout.high);
    most = {std::max(most.scale, s.scale), std::max(most.offset, s.offset)};
  }
  const auto highest = static_cast<float>(layout.highest);
  if (!to.d.store(most.scale / highest) || !to.minimum.store(most.offset / highest)) return false;
  const float d = to.d.value(), dmin = to.minimum.value();
  for (int p = 0; p < layout.parts; ++p) {
    const float* part = x + p * layout.width;
    const Codes codes =
        best_codes(part, Importance(part, layout.width).data(), layout, exact[static_cast<size_t>(p)], d, dmin);
    to.scales[p] = static_cast<int8_t>(codes.scale);
    to.minimums[p] = static_cast<uint8_t>(codes.offset);
    const ScaleAndOffset s{d * static_cast<float>(codes.scale), dmin * static_cast<float>(codes.offset)};
    for (int i = 0; i < layout.width; ++i)
      to.numbers[p * layout.width + i] = static_cast<uint8_t>(nearest_code(part[i], s, {0, layout.high}));
  }
  return true;
}

}  // namespace qkv
