// The random integers of numpy.random.default_rng(seed).integers(0, n): PCG64 (O'Neill, 2014: PCG XSL RR 128/64)
// seeded by NumPy's SeedSequence, with the bounded integers of Lemire (2019). For results equal to those of
// programs that draw with NumPy.
//
//     NumpyRandom random(12345);
//     uint32_t i = random.below(10);      // 6, 2, 7, 3, 2, ...
#pragma once

#include <cstddef>
#include <cstdint>

namespace qkv::metric {

class NumpyRandom {
 public:
  explicit NumpyRandom(uint32_t seed);

  uint32_t below(uint32_t n);  // 0 to n - 1, n >= 1
  // Draws as one call of integers(2, size, dtype=bool) does for all of them: 32 from a word, its lowest bit first.
  bool boolean();

 private:
  __extension__ using Wide = unsigned __int128;

  uint64_t next64();
  uint32_t next32();

  Wide state_ = 0, increment_ = 0;
  uint32_t upper_half_ = 0;  // of the last 64 bits, if only the lower half was used
  bool has_upper_half_ = false;
  uint32_t booleans_ = 0;  // of the last word, and how many are left
  int booleans_left_ = 0;
};

}  // namespace qkv::metric
