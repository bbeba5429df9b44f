// Random numbers that are a function of (seed, stream, position): the same at any thread count, and resumable from
// three integers. Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011).
//
//     Random random(seed, /*stream=*/7);
//     float x = random.uniform();                   // the next number
//     auto four = philox(seed, 7, position);        // or any one, by position
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>

namespace qkv {

// Four 32-bit numbers at a position of a stream.
std::array<uint32_t, 4> philox(uint64_t seed, uint64_t stream, uint64_t position);

// Mixes two numbers into a stream number: streams named by (purpose, index).
uint64_t mix(uint64_t a, uint64_t b);

// Draws the numbers of one stream in order.
class Random {
 public:
  explicit Random(uint64_t seed, uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  uint32_t bits();   // 32 random bits
  double uniform();  // [0, 1)
  double uniform(double low, double high) { return low + (high - low) * uniform(); }
  double normal();             // mean 0, variance 1
  uint64_t below(uint64_t n);  // 0 .. n-1, unbiased; n >= 1

  template <class T>
  void shuffle(std::span<T> items) {  // Fisher and Yates
    for (size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[below(i)]);
  }

  uint64_t position() const { return position_; }  // numbers drawn so far, in units of 32 bits
  void seek(uint64_t position) { position_ = position; }

 private:
  uint64_t seed_, stream_, position_ = 0;
};

}  // namespace qkv
