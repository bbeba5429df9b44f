// Rotary position embedding, RoPE (Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding", 2021):
// pairs of columns of a query or a key are rotated by an angle proportional to the position, so that q_i . k_j depends
// on the positions only through i - j.
//
//     (x, y) <- (x cos a - y sin a, y cos a + x sin a)      a = (i + offset) base^(-2c/D),  c < D/2
//
// Columns (x, y) are (c, c + D/2), or, interleaved, (2c, 2c + 1).
//
//     Variable rotated = rotary(q, {.offset = cached});      // q (B,H,T,D), D even; offset: position of query 0
//
// The result has the memory order of q. Angles are computed in double precision. Errors: an odd D, a base that is
// not positive.
#pragma once

#include "qkv/autograd/variable.h"

namespace qkv {

struct RotaryOptions {
  bool interleaved = false;
  double base = 10000.0;
  int64_t offset = 0;
};
Variable rotary(const Variable& q, const RotaryOptions& options = {});

}  // namespace qkv
