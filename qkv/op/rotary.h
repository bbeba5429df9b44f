// Rotary position embedding, RoPE (Su et al., "RoFormer: Enhanced Transformer with Rotary Position Embedding",
// 2021): pairs of columns of a query or a key are rotated by an angle proportional to the position, so that the
// dot product of q_i and k_j depends on the positions only through i - j.
//
//     (x, y) <- m (x cos a - y sin a, y cos a + x sin a)      a = (i + offset) f_c,  f_c = base^(-2c/d),  c < d/2
//
// Columns (x, y) are (c, c + d/2), or, interleaved, (2c, 2c + 1). The columns from d on keep their values (partial
// rotary embedding of GPT-NeoX and Phi). Frequencies f_c and multiplier m of models that were extended to longer
// texts are those of op/rotary_scaling.h.
//
//     Variable rotated = rotary(q, {.offset = cached});      // q (B,H,T,D), D even; offset: position of query 0
//     Variable partial = rotary(q, {.width = 32});           // columns 0 to 31
//
// The result has the memory order of q. Angles are computed in double precision, each from its own position alone:
// a decoding step has the bits of the whole. Errors: a width that is odd or larger than D, a base that is not
// positive, a number of frequencies that is not d/2, frequencies or a multiplier that are not finite.
#pragma once

#include <vector>

#include "qkv/autograd/variable.h"

namespace qkv {

struct RotaryOptions {
  bool interleaved = false;
  double base = 10000.0;
  int64_t offset = 0;
  int64_t width = 0;                     // d; 0: D
  std::vector<double> frequencies = {};  // f_c, d/2 of them; none: those of the base
  double multiplier = 1.0;               // m, of the cosines and sines
};
Variable rotary(const Variable& q, const RotaryOptions& options = {});

}  // namespace qkv
