#include "qkv/kernel/format/iq4_nl.h"

#include "qkv/kernel/format/five_bits.h"
#include "qkv/kernel/format/scale_search.h"

namespace qkv {
namespace {

// The number of the table that is nearest to x: how many middles of two neighbours are below it.
int nearest_in_table(float x) {
  int q = 0;
  for (int k = 0; k < 15; ++k)
    q += 2 * x > static_cast<float>(kernel::iq4_nl_table[k] + kernel::iq4_nl_table[k + 1]);
  return q;
}

struct TableFit {
  float scale = 0, explained = 0;
};
TableFit fit_to_table(const float* x, const float* w, float inverse) {
  float xq = 0, qq = 0;
  for (int i = 0; i < 32; ++i) {
    const auto q = static_cast<float>(kernel::iq4_nl_table[nearest_in_table(x[i] * inverse)]);
    xq += w[i] * x[i] * q;
    qq += w[i] * q * q;
  }
  return {xq / qq, xq / qq * xq};  // no number of the table is zero
}

float best_table_scale(const float* x) {
  const float largest = largest_with_sign(x, 32);
  if (is_zero_in_blocks(std::fabs(largest))) return 0;
  const Importance w(x, 32);
  TableFit best;
  for (const int end : {kernel::iq4_nl_table[0], kernel::iq4_nl_table[15]})
    for (int width = -8; width <= 8; ++width) {
      const TableFit fit =
          fit_to_table(x, w.data(), static_cast<float>(end) * (1 + 0.02f * static_cast<float>(width)) / largest);
      if (fit.explained > best.explained) best = fit;
    }
  return best.scale;
}

}  // namespace

bool encode_iq4_nl(const float* x, BlockNumbers& to) {
  if (!fits_search(largest_magnitude(x, 32))) return false;
  if (!to.d.store(best_table_scale(x))) return false;
  const float inverse = inverse_or_zero(to.d.value());
  for (int j = 0; j < 32; ++j) to.numbers[j] = static_cast<uint8_t>(nearest_in_table(x[j] * inverse));
  return true;
}

void put_together_iq4_nl(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockIQ4_NL*>(block);
  to.d = from.d;
  for (int j = 0; j < 32; ++j) store_four_bits(from.numbers[j], to.q, j);
}

void take_apart_iq4_nl(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockIQ4_NL*>(block);
  to.d = from.d;
  for (int j = 0; j < 32; ++j) to.numbers[j] = static_cast<uint8_t>(four_bits(from.q, j));
}

}  // namespace qkv
