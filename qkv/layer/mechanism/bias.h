// A learned number for every head and pair of a query's and a key's position, added to the score: the bias of
// attention/modify/bias.h as parameters of a layer. Positions from `positions` on have none, as queries and as keys.
//
//     s_ij <- s_ij + table[h, p_i, j]   if p_i, j < positions                              p_i: the position of query i
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
