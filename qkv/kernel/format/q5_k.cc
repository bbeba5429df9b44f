#include "qkv/kernel/format/q5_k.h"

#include "qkv/kernel/format/offset_parts.h"
#include "qkv/kernel/format/six_bits.h"

namespace qkv {

bool encode_q5_k(const float* x, BlockNumbers& to) {
  return encode_parts(x, {.parts = 8, .width = 32, .high = 31, .highest = 63}, to);
}

void put_together_q5_k(const BlockNumbers& from, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ5_K*>(block);
  SixBits scales = {};
  for (int p = 0; p < 8; ++p) {
    scales.scale[p] = static_cast<uint8_t>(from.scales[p]);
    scales.offset[p] = from.minimums[p];
  }
  pack(scales, to.scales);
  for (int l = 0; l < 32; ++l) {
    int high = 0;
    for (int p = 0; p < 8; ++p) high |= from.numbers[32 * p + l] >> 4 << p;
    to.high[l] = static_cast<uint8_t>(high);
    for (int h = 0; h < 4; ++h) {
      const uint8_t* q = &from.numbers[64 * h + l];
      to.q[32 * h + l] = static_cast<uint8_t>((q[0] & 15) | (q[32] & 15) << 4);
    }
  }
  to.d = from.d;
  to.dmin = from.minimum;
}

void take_apart_q5_k(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ5_K*>(block);
  to.d = from.d;
  to.minimum = from.dmin;
  const SixBits scales = unpacked(from.scales);
  for (int p = 0; p < 8; ++p) {
    to.scales[p] = static_cast<int8_t>(scales.scale[p]);
    to.minimums[p] = scales.offset[p];
    const uint8_t* q = from.q + 32 * (p / 2);
    const int shift = 4 * (p % 2);
    for (int i = 0; i < 32; ++i)
      to.numbers[32 * p + i] = static_cast<uint8_t>((q[i] >> shift & 15) | (from.high[i] >> p & 1) << 4);
  }
}

}  // namespace qkv
