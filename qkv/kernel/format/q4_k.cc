#include "qkv/kernel/format/q4_k.h"

#include "qkv/kernel/format/offset_parts.h"
#include "qkv/kernel/format/six_bits.h"

namespace qkv {

bool encode_q4_k(const float* x, BlockNumbers& to) {
  return encode_parts(x, {.parts = 8, .width = 32, .high = 15, .highest = 63}, to);
}

void put_together_q4_k(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ4_K*>(block);
  SixBits scales = {};
  for (int p = 0; p < 8; ++p) {
    scales.scale[p] = static_cast<uint8_t>(from.scales[p]);
    scales.offset[p] = from.minimums[p];
  }
  pack(scales, to.scales);
  for (int h = 0; h < 4; ++h)
    for (int l = 0; l < 32; ++l) {
      const uint8_t* q = &from.numbers[64 * h + l];
      to.q[32 * h + l] = static_cast<uint8_t>(q[0] | q[32] << 4);
    }
  to.d = from.d;
  to.dmin = from.minimum;
}

void take_apart_q4_k(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ4_K*>(block);
  to.d = from.d;
  to.minimum = from.dmin;
  const SixBits scales = unpacked(from.scales);
  for (int p = 0; p < 8; ++p) {
    to.scales[p] = static_cast<int8_t>(scales.scale[p]);
    to.minimums[p] = scales.offset[p];
    const uint8_t* q = from.q + 32 * (p / 2);
    const int shift = 4 * (p % 2);
    for (int i = 0; i < 32; ++i) to.numbers[32 * p + i] = q[i] >> shift & 15;
  }
}

}  // namespace qkv
