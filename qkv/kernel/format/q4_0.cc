#include "qkv/kernel/format/q4_0.h"

#include "qkv/kernel/format/five_bits.h"

namespace qkv {

bool encode_q4_0(const float* x, BlockNumbers& to) {
  const float d = largest_with_sign(x, 32) / -8, inverse = inverse_or_zero(d);
  if (!to.d.store(d)) return false;
  for (int j = 0; j < 32; ++j)
    to.numbers[j] = static_cast<uint8_t>(std::min(static_cast<int>(x[j] * inverse + 8.5f), 15));
  return true;
}

void put_together_q4_0(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ4_0*>(block);
  to.d = from.d;
  store_four_bits(from.numbers, to.q);
}

void take_apart_q4_0(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ4_0*>(block);
  to.d = from.d;
  take_four_bits(from.q, to.numbers);
}

}  // namespace qkv
