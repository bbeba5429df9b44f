// The 8 scales and 8 offsets of 6 bits of a block of Q4_K and Q5_K, in 12 bytes.
//
// | byte    | low bits                        | high bits                  |
// | p       | scale p                  (6)    | upper two of scale p + 4   |
// | 4 + p   | offset p                 (6)    | upper two of offset p + 4  |
// | 8 + p   | lower four of scale p + 4       | lower four of offset p + 4 |     for p < 4
#pragma once

#include <cstdint>

namespace qkv {

struct SixBits {
  uint8_t scale[8], offset[8];
};

inline SixBits unpacked(const uint8_t bytes[12]) {
  SixBits out = {};
  for (int p = 0; p < 4; ++p) {
    out.scale[p] = bytes[p] & 63;
    out.offset[p] = bytes[4 + p] & 63;
    out.scale[4 + p] = static_cast<uint8_t>((bytes[8 + p] & 15) | bytes[p] >> 6 << 4);
    out.offset[4 + p] = static_cast<uint8_t>(bytes[8 + p] >> 4 | bytes[4 + p] >> 6 << 4);
  }
  return out;
}

inline void pack(const SixBits& from, uint8_t bytes[12]) {
  for (int p = 0; p < 4; ++p) {
    bytes[p] = static_cast<uint8_t>(from.scale[p] | from.scale[4 + p] >> 4 << 6);
    bytes[4 + p] = static_cast<uint8_t>(from.offset[p] | from.offset[4 + p] >> 4 << 6);
    bytes[8 + p] = static_cast<uint8_t>((from.scale[4 + p] & 15) | (from.offset[4 + p] & 15) << 4);
  }
}

}  // namespace qkv
