// Position encodings that add a term to the scores.
//
//     AttentionVariant linear = Alibi{};                                                   // "alibi"
//     AttentionVariant learned = RelativeBias{.buckets = 64};                              // "relative-bias=64"
//
// Parameters: none of Alibi; of RelativeBias table (buckets, H), in the first layer if it is shared.
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct Alibi {  // "alibi": attention/modify/alibi.h
  bool operator==(const Alibi&) const = default;
};

// "relative-bias[=buckets:max-distance:shared=true]": attention/modify/relative_bias.h
struct RelativeBias {
  int64_t buckets = 32, max_distance = 128;
  bool shared = false;  // one table for all layers of a stack, as in T5
  bool operator==(const RelativeBias&) const = default;
};

AttentionMechanismPtr mechanism_of(const Alibi&);
AttentionMechanismPtr mechanism_of(const RelativeBias&);

}  // namespace qkv
