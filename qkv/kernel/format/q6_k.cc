#include "qkv/kernel/format/q6_k.h"

#include "qkv/kernel/format/signed_parts.h"

namespace qkv {

bool encode_q6_k(const float* x, BlockNumbers& to) {
  return encode_parts(x, {.numbers = {-32, 31}, .scales = {-128, 127}}, to);
}

void put_together_q6_k(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ6_K*>(block);
  to = {};
  for (int i = 0; i < 256; ++i) {
    const int q = from.numbers[i], half = i / 128, s = i / 32 % 4, l = i % 32;
    uint8_t& low = to.q[64 * half + 32 * (s % 2) + l];
    low = static_cast<uint8_t>(low | (q & 15) << 4 * (s / 2));
    uint8_t& high = to.high[32 * half + l];
    high = static_cast<uint8_t>(high | q >> 4 << 2 * s);
  }
  std::copy_n(from.scales, 16, to.scales);
  to.d = from.d;
}

void take_apart_q6_k(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ6_K*>(block);
  to.d = from.d;
  for (int p = 0; p < 16; ++p) {
    to.scales[p] = from.scales[p];
    const int half = p / 8, s = p / 2 % 4;
    const uint8_t* low = from.q + 64 * half + 32 * (s % 2) + 16 * (p % 2);
    const uint8_t* high = from.high + 32 * half + 16 * (p % 2);
    for (int i = 0; i < 16; ++i)
      to.numbers[16 * p + i] = static_cast<uint8_t>((low[i] >> 4 * (s / 2) & 15) | (high[i] >> 2 * s & 3) << 4);
  }
}

}  // namespace qkv
