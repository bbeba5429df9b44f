#include "qkv/metric/numpy_random.h"

#include <array>
#include <bit>

namespace qkv::metric {
namespace {

// SeedSequence mixes the seed into a pool of four words and expands them into eight words of state.
std::array<uint32_t, 8> seed_sequence(uint32_t seed) {
  uint32_t constant = 0x43b0d7e5;
  const auto hash = [&](uint32_t value) {
    value ^= constant;
    constant *= 0x931e8875;
    value *= constant;
    return value ^ value >> 16;
  };
  const auto mix = [](uint32_t x, uint32_t y) {
    const uint32_t result = 0xca01f9dd * x - 0x4973f715 * y;
    return result ^ result >> 16;
  };
  std::array<uint32_t, 4> pool = {hash(seed), hash(0), hash(0), hash(0)};  // one after another
  for (size_t from = 0; from < pool.size(); ++from)
    for (size_t to = 0; to < pool.size(); ++to)
      if (from != to) pool[to] = mix(pool[to], hash(pool[from]));

  constant = 0x8b51f9dd;
  std::array<uint32_t, 8> state = {};
  for (size_t i = 0; i < state.size(); ++i) {
    uint32_t value = pool[i % pool.size()] ^ constant;
    constant *= 0x58f38ded;
    value *= constant;
    state[i] = value ^ value >> 16;
  }
  return state;
}

}  // namespace

NumpyRandom::NumpyRandom(uint32_t seed) {
  const std::array<uint32_t, 8> words = seed_sequence(seed);
  const auto wide = [&](size_t first) {  // the more significant 64 bits first, their less significant 32 bits first
    Wide value = words[first + 1];
    value = value << 32 | words[first];
    value = value << 32 | words[first + 3];
    return value << 32 | words[first + 2];
  };
  increment_ = wide(4) << 1 | 1;
  next64();
  state_ += wide(0);
  next64();
}

uint64_t NumpyRandom::next64() {
  constexpr Wide multiplier = Wide{0x2360ed051fc65da4} << 64 | 0x4385df649fccf645;
  state_ = state_ * multiplier + increment_;
  return std::rotr(static_cast<uint64_t>(state_ >> 64) ^ static_cast<uint64_t>(state_),
                   static_cast<int>(state_ >> 122));
}

uint32_t NumpyRandom::next32() {
  if (has_upper_half_) {
    has_upper_half_ = false;
    return upper_half_;
  }
  const uint64_t bits = next64();
  has_upper_half_ = true;
  upper_half_ = static_cast<uint32_t>(bits >> 32);
  return static_cast<uint32_t>(bits);
}

uint32_t NumpyRandom::below(uint32_t n) {
  if (n == 1) return 0;
  uint64_t product = uint64_t{next32()} * n;
  if (static_cast<uint32_t>(product) < n) {
    const uint32_t threshold = (UINT32_MAX - (n - 1)) % n;
    while (static_cast<uint32_t>(product) < threshold) product = uint64_t{next32()} * n;
  }
  return static_cast<uint32_t>(product >> 32);
}

bool NumpyRandom::boolean() {
  if (booleans_left_ == 0) {
    booleans_ = next32();
    booleans_left_ = 32;
  }
  const bool drawn = booleans_ & 1;
  booleans_ >>= 1;
  --booleans_left_;
  return drawn;
}

}  // namespace qkv::metric
