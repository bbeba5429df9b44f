#include "qkv/kernel/format/q3_k.h"

#include "qkv/kernel/format/signed_parts.h"

namespace qkv {

bool encode_q3_k(const float* x, BlockNumbers& to) {
  return encode_parts(x, {.numbers = {-4, 3}, .scales = {-32, 31}}, to);
}

void put_together_q3_k(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ3_K*>(block);
  to = {};
  for (int i = 0; i < 256; ++i) {
    const int q = from.numbers[i];
    uint8_t& low = to.q[32 * (i / 128) + i % 32];
    low = static_cast<uint8_t>(low | (q & 3) << 2 * (i / 32 % 4));
    to.high[i % 32] = static_cast<uint8_t>(to.high[i % 32] | q >> 2 << i / 32);
  }
  for (int p = 0; p < 16; ++p) {
    const int scale = from.scales[p] + 32;
    to.scales[p % 8] = static_cast<uint8_t>(to.scales[p % 8] | (scale & 15) << (p < 8 ? 0 : 4));
    to.scales[8 + p % 4] = static_cast<uint8_t>(to.scales[8 + p % 4] | scale >> 4 << 2 * (p / 4));
  }
  to.d = from.d;
}

void take_apart_q3_k(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ3_K*>(block);
  to.d = from.d;
  for (int p = 0; p < 16; ++p) {
    const int code = (from.scales[p % 8] >> (p < 8 ? 0 : 4) & 15) | (from.scales[8 + p % 4] >> 2 * (p / 4) & 3)
                                                                        << 4;
    to.scales[p] = static_cast<int8_t>(code - 32);
    const uint8_t *q = from.q + 32 * (p / 8) + 16 * (p % 2), *high = from.high + 16 * (p % 2);
    const int shift = 2 * (p / 2 % 4), bit = p / 2;
    for (int i = 0; i < 16; ++i)
      to.numbers[16 * p + i] = static_cast<uint8_t>((q[i] >> shift & 3) | (high[i] >> bit & 1) << 2);
  }
}

}  // namespace qkv
