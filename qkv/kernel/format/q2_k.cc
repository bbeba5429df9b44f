#include "qkv/kernel/format/q2_k.h"

#include "qkv/kernel/format/offset_parts.h"

namespace qkv {

bool encode_q2_k(const float* x, BlockNumbers& to) {
  return encode_parts(x, {.parts = 16, .width = 16, .high = 3, .highest = 15}, to);
}

void put_together_q2_k(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ2_K*>(block);
  for (int p = 0; p < 16; ++p) to.scales[p] = static_cast<uint8_t>(from.scales[p] | from.minimums[p] << 4);
  for (int h = 0; h < 2; ++h)
    for (int l = 0; l < 32; ++l) {
      const uint8_t* q = &from.numbers[128 * h + l];
      to.q[32 * h + l] = static_cast<uint8_t>(q[0] | q[32] << 2 | q[64] << 4 | q[96] << 6);
    }
  to.d = from.d;
  to.dmin = from.minimum;
}

void take_apart_q2_k(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ2_K*>(block);
  to.d = from.d;
  to.minimum = from.dmin;
  for (int p = 0; p < 16; ++p) {
    to.scales[p] = static_cast<int8_t>(from.scales[p] & 15);
    to.minimums[p] = from.scales[p] >> 4;
    const uint8_t* q = from.q + 32 * (p / 8) + 16 * (p % 2);
    const int shift = 2 * (p / 2 % 4);
    for (int i = 0; i < 16; ++i) to.numbers[16 * p + i] = q[i] >> shift & 3;
  }
}

}  // namespace qkv
