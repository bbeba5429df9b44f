#include "qkv/kernel/format/q8_0.h"

namespace qkv {

bool encode_q8_0(const float* x, BlockNumbers& to) {
  const float d = largest_magnitude(x, 32) / 127, inverse = inverse_or_zero(d);
  if (!to.d.store(d)) return false;
  for (int j = 0; j < 32; ++j)
    to.numbers[j] = static_cast<uint8_t>(static_cast<int>(std::round(x[j] * inverse)) + 128);
  return true;
}

void put_together_q8_0(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ8_0*>(block);
  to.d = from.d;
  for (int j = 0; j < 32; ++j) to.q[j] = static_cast<int8_t>(from.numbers[j] - 128);
}

void take_apart_q8_0(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ8_0*>(block);
  to.d = from.d;
  for (int j = 0; j < 32; ++j) to.numbers[j] = static_cast<uint8_t>(from.q[j] + 128);
}

}  // namespace qkv
