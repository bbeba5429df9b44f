#include "qkv/kernel/format/q8_0.h"

namespace qkv {

bool encode_q8_0(const float* x, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ8_0*>(block);
  const float d = largest_magnitude(x, 32) / 127, inverse = inverse_or_zero(d);
  if (!to.d.store(d)) return false;
  for (int j = 0; j < 32; ++j) to.q[j] = static_cast<int8_t>(std::round(x[j] * inverse));
  return true;
}

void decode_q8_0(const uint8_t* block, float* y) {
  const auto& from = *reinterpret_cast<const BlockQ8_0*>(block);
  const float d = from.d.value();
  for (int j = 0; j < 32; ++j) y[j] = static_cast<float>(from.q[j]) * d;
}

}  // namespace qkv
