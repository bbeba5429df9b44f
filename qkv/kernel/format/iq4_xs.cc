#include "qkv/kernel/format/iq4_xs.h"

#include "qkv/kernel/format/five_bits.h"
#include "qkv/kernel/format/scale_search.h"
#include "qkv/kernel/format/table_search.h"

namespace qkv {
namespace {

constexpr int parts = 8, low = -32, high = 31;  // scales

// The best of the integers next to the exact scale of a part.
int best_scale(const float* x, float exact, float d) {
  const int near = nearest_within(exact * inverse_or_zero(d), low, high);
  int best = near;
  float min_error = -1;
  for (const int scale : {near, near - 1, near + 1}) {
    if (scale < low || scale > high) continue;
    const float error = table_error(x, d * static_cast<float>(scale));
    if (min_error < 0 || error < min_error) best = scale, min_error = error;
  }
  return best;
}

}  // namespace

bool encode_iq4_xs(const float* x, BlockNumbers& to) {
  to = {};
  if (!fits_search(largest_magnitude(x, 32 * parts))) return false;
  float exact[parts];
  for (int p = 0; p < parts; ++p) exact[p] = table_scale_for(x + 32 * p);
  // The largest scale gets the lower end of the range, which is one farther from zero than the upper.
  if (!to.d.store(largest_with_sign(exact, parts) / static_cast<float>(low))) return false;
  const float d = to.d.value();
  for (int p = 0; p < parts; ++p) {
    const float* part = x + 32 * p;
    const int scale = best_scale(part, exact[p], d);
    const float inverse = inverse_or_zero(d * static_cast<float>(scale));
    to.scales[p] = static_cast<int8_t>(scale);
    for (int i = 0; i < 32; ++i) to.numbers[32 * p + i] = static_cast<uint8_t>(nearest_in_table(part[i] * inverse));
  }
  return true;
}

void put_together_iq4_xs(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockIQ4_XS*>(block);
  to = {};
  to.d = from.d;
  for (int p = 0; p < parts; ++p) {
    const int scale = from.scales[p] - low;
    to.low[p / 2] = static_cast<uint8_t>(to.low[p / 2] | (scale & 15) << 4 * (p % 2));
    to.high[p / 4] = static_cast<uint8_t>(to.high[p / 4] | scale >> 4 << 2 * (p % 4));
    store_four_bits(from.numbers + 32 * p, to.q + 16 * p);
  }
}

void take_apart_iq4_xs(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockIQ4_XS*>(block);
  to.d = from.d;
  for (int p = 0; p < parts; ++p) {
    const int scale = (from.low[p / 2] >> 4 * (p % 2) & 15) | (from.high[p / 4] >> 2 * (p % 4) & 3) << 4;
    to.scales[p] = static_cast<int8_t>(scale + low);
    take_four_bits(from.q + 16 * p, to.numbers + 32 * p);
  }
}

}  // namespace qkv
