#include "qkv/kernel/format/table_search.h"

#include "qkv/kernel/format/block.h"
#include "qkv/kernel/format/scale_search.h"

namespace qkv {
namespace {

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

}  // namespace

// How many middles of two neighbours are below it.
int nearest_in_table(float x) {
  int q = 0;
  for (int k = 0; k < 15; ++k)
    q += 2 * x > static_cast<float>(kernel::iq4_nl_table[k] + kernel::iq4_nl_table[k + 1]);
  return q;
}

float table_scale_for(const float* x) {
  const float largest = largest_with_sign(x, 32);
  if (is_zero_in_blocks(std::fabs(largest))) return 0;
  const Importance w(x, 32);
  TableFit best;
  for (const int8_t end : {kernel::iq4_nl_table[0], kernel::iq4_nl_table[15]})
    for (int width = -8; width <= 8; ++width) {
      const TableFit fit =
          fit_to_table(x, w.data(), static_cast<float>(end) * (1 + 0.02f * static_cast<float>(width)) / largest);
      if (fit.explained > best.explained) best = fit;
    }
  return best.scale;
}

float table_error(const float* x, float scale) {
  const Importance w(x, 32);
  const float inverse = inverse_or_zero(scale);
  float sum = 0;
  for (int i = 0; i < 32; ++i) {
    const auto q = static_cast<float>(kernel::iq4_nl_table[nearest_in_table(x[i] * inverse)]);
    const float difference = x[i] - scale * q;
    sum += w.data()[i] * difference * difference;
  }
  return sum;
}

}  // namespace qkv
