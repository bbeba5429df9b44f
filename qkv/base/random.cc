#include "qkv/base/random.h"

#include <cmath>
#include <numbers>

#include <Random123/philox.h>

#include "qkv/base/error.h"

namespace qkv {

std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t position) {
  const r123::Philox4x32::ctr_type counter = {{static_cast<uint32_t>(position),
                                               static_cast<uint32_t>(position >> 32), static_cast<uint32_t>(stream),
                                               static_cast<uint32_t>(stream >> 32)}};
  const r123::Philox4x32::key_type key = {{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)}};
  const auto out = r123::Philox4x32()(counter, key);
  return {out[0], out[1], out[2], out[3]};
}

uint64_t mix(uint64_t a, uint64_t b) {
  const auto bits = philox(a, b, 0x716b76);
  return (uint64_t{bits[0]} << 32) | bits[1];
}

uint32_t Random::bits() {
  const uint64_t at = position_++;
  return philox(seed_, stream_, at / 4)[at % 4];
}

double Random::uniform() {
  const uint64_t high = bits(), low = bits();
  return static_cast<double>(((high << 32) | low) >> 11) * 0x1p-53;
}

double Random::normal() {
  const double u = 1.0 - uniform(), v = uniform();  // Box and Muller; u in (0, 1]
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

uint64_t Random::below(uint64_t n) {
  require(n >= 1, "Random::below", "n must be at least 1");
  const uint64_t limit = UINT64_MAX - UINT64_MAX % n;  // reject the incomplete last interval
  for (;;) {
    const uint64_t high = bits(), x = (high << 32) | bits();
    if (x < limit) return x % n;
  }
}

}  // namespace qkv
