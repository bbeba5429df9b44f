#include "qkv/kernel/format/q5_0.h"

#include "qkv/kernel/format/five_bits.h"

namespace qkv {

bool encode_q5_0(const float* x, BlockNumbers& to) {
  const float d = largest_with_sign(x, 32) / -16, inverse = inverse_or_zero(d);
  if (!to.d.store(d)) return false;
  for (int j = 0; j < 32; ++j)
    to.numbers[j] = static_cast<uint8_t>(std::min(static_cast<int>(x[j] * inverse + 16.5f), 31));
  return true;
}

void put_together_q5_0(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ5_0*>(block);
  to.d = from.d;
  store_five_bits(from.numbers, to.high, to.q);
}

void take_apart_q5_0(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ5_0*>(block);
  to.d = from.d;
  take_five_bits(from.high, from.q, to.numbers);
}

}  // namespace qkv
