// Short-lived memory of one thread: taken from a stack, given back when the scope ends, never returned to the
// system while the thread lives. Aligned to 64 bytes, contents undefined.
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
  int64_t chunk_, used_;  // where the stack stood when this scope began
};

}  // namespace qkv
