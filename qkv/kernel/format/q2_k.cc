#include "qkv/kernel/format/q2_k.h"

#include "qkv/kernel/format/offset_parts.h"

namespace qkv {

bool encode_q2_k(const float* x, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ2_K*>(block);
  EncodedParts parts;
  if (!encode_parts(x, {.parts = 16, .width = 16, .high = 3, .highest = 15}, parts)) return false;
  for (size_t p = 0; p < 16; ++p) to.scales[p] = static_cast<uint8_t>(parts.scale[p] | parts.offset[p] << 4);
  for (size_t h = 0; h < 2; ++h)
    for (size_t l = 0; l < 32; ++l) {
      const uint8_t* q = &parts.q[128 * h + l];
      to.q[32 * h + l] = static_cast<uint8_t>(q[0] | q[32] << 2 | q[64] << 4 | q[96] << 6);
    }
  to.d = parts.d;
  to.dmin = parts.dmin;
  return true;
}

void take_apart_q2_k(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ2_K*>(block);
  to.d = from.d.bits();
  to.minimum = from.dmin.bits();
  for (int p = 0; p < 16; ++p) {
    to.scales[p] = static_cast<int8_t>(from.scales[p] & 15);
    to.minimums[p] = from.scales[p] >> 4;
    const uint8_t* q = from.q + 32 * (p / 8) + 16 * (p % 2);
    const int shift = 2 * (p / 2 % 4);
    for (int i = 0; i < 16; ++i) to.numbers[16 * p + i] = q[i] >> shift & 3;
  }
}

}  // namespace qkv
