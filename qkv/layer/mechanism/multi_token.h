// Multi-token attention (attention/multi_token.h; Golovneva et al., 2025): convolutions over the scores of neighboring
// queries and keys, mixing of the weights of heads, then a norm and a gate for each head.
//
//     AttentionVariant variant = MultiToken{.heads = 2};                                   // "multi-token=6:11:2"
//
// Parameters: convolution (H,1,queries,keys) and mix (H/heads,heads,heads), initialised as the identity; norm (D);
// gate.weight (1,D), gate.bias (1).
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct MultiToken {                // "multi-token[=queries:keys:heads]"
  int64_t queries = 6, keys = 11;  // that the convolution reads; keys is odd
  int64_t heads = 0;               // whose weights are mixed; divides H; 0: all
  bool operator==(const MultiToken&) const = default;
};

AttentionMechanismPtr mechanism_of(const MultiToken&);

}  // namespace qkv
