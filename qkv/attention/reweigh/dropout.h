// Dropout on attention weights (Srivastava et al., 2014; used by Vaswani et al., 2017).
//
//     w_ij = p_ij / (1 - rate)  with probability 1 - rate, else 0
//
//     Tensor y = attention(q, k, v, {.reweigh = {weight_dropout({.rate = 0.1, .seed = 1, .stream = step})}});
//
// Which weights are dropped is a function of (seed, stream, batch, head, query, key): the same in forward and
// backward, for any number of threads and any tile size.
// Errors: a rate outside [0, 1).
#pragma once

#include "qkv/attention/reweigh/reweigher.h"

namespace qkv {

struct WeightDropout {
  double rate = 0.0;  // [0, 1)
  uint64_t seed = 0, stream = 0;
};
ReweigherPtr weight_dropout(const WeightDropout& options);

}  // namespace qkv
