#include "qkv/kernel/format/q4_k.h"

#include "qkv/kernel/format/offset_parts.h"
#include "qkv/kernel/format/six_bits.h"

namespace qkv {

bool encode_q4_k(const float* x, uint8_t* block) {
  auto& to = *reinterpret_cast<BlockQ4_K*>(block);
  EncodedParts parts;
  if (!encode_parts(x, {.parts = 8, .width = 32, .high = 15, .highest = 63}, parts)) return false;
  SixBits scales;
  std::copy_n(parts.scale.begin(), 8, scales.scale);
  std::copy_n(parts.offset.begin(), 8, scales.offset);
  pack(scales, to.scales);
  for (size_t h = 0; h < 4; ++h)
    for (size_t l = 0; l < 32; ++l)
      to.q[32 * h + l] = static_cast<uint8_t>(parts.q[64 * h + l] | parts.q[64 * h + 32 + l] << 4);
  to.d = parts.d;
  to.dmin = parts.dmin;
  return true;
}

void take_apart_q4_k(const uint8_t* block, BlockNumbers& to) {
  const auto& from = *reinterpret_cast<const BlockQ4_K*>(block);
  to.d = from.d.bits();
  to.minimum = from.dmin.bits();
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
