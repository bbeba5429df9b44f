// Longformer with separate projections for the queries of the global positions, and for the keys and values that these
// queries attend to (Beltagy et al., 2020, section 3.1). The first positions are global, and the tokens of the pass
// (global_tokens.h).
//
//     AttentionVariant variant = LongformerSeparate{.radius = 64, .globals = 2};          // "longformer-separate=64:2"
//
// Parameters: query.weight, key.weight, value.weight, and query.bias, key.bias, value.bias if the projections of the
// layer have biases; the shapes are theirs.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct LongformerSeparate {  // "longformer-separate=radius:globals"
  int64_t radius = 0, globals = 0;
  bool operator==(const LongformerSeparate&) const = default;
};

AttentionMechanismPtr mechanism_of(const LongformerSeparate&);

}  // namespace qkv
