#include "qkv/kernel/format/q4_1.h"

#include "qkv/kernel/format/five_bits.h"

namespace qkv {

bool encode_q4_1(const float* x, BlockNumbers& to) {
  if (!std::isfinite(largest_magnitude(x, 32))) return false;
  const auto [low, high] = std::minmax_element(x, x + 32);
  const float m = *low, d = (*high - m) / 15, inverse = inverse_or_zero(d);
  if (!to.d.store(d) || !to.minimum.store(-m)) return false;
  for (int j = 0; j < 32; ++j)
    to.numbers[j] = static_cast<uint8_t>(std::min(half_rounded_up((x[j] - m) * inverse), 15));
  return true;
}

void put_together_q4_1(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ4_1*>(block);
  to.d = from.d;
  to.m = negated(from.minimum);
  store_four_bits(from.numbers, to.q);
}

void take_apart_q4_1(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ4_1*>(block);
  to.d = from.d;
  to.minimum = negated(from.m);
  take_four_bits(from.q, to.numbers);
}

}  // namespace qkv
