// Temporary memory of one thread, allocated on a stack and released at the end of the scope; the stack keeps its memory
// until the thread ends. Aligned to 64 bytes, contents undefined.
//
//     Scratch scratch;
//     float* tile = scratch.floats(128 * 64);
#pragma once

#include <cstdint>

namespace qkv {

class Scratch {
 public:
  Scratch();
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  float* floats(int64_t count);

 private:
  int64_t chunk_, used_;  // top of the stack at the beginning of this scope
};

}  // namespace qkv
