// A learned number for every head and pair of a query's and a key's position, added to the score
// (attention/modify/absolute_bias.h). Positions from `positions` on have none, as queries and as keys.
//
//     AttentionVariant variant = Bias{.positions = 64};                                    // "bias=64"
//
// For inputs of a bounded length whose places have a meaning of their own: the squares of a board, the patches of an
// image. Where only the distance counts, RelativeBias and Alibi need fewer numbers and no bound.
// Parameters: table (H,positions,positions), at first 0.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct Bias {  // "bias=positions"
  int64_t positions = 0;
  bool operator==(const Bias&) const = default;
};

AttentionMechanismPtr mechanism_of(const Bias&);

}  // namespace qkv
