// Luong's local attention, in cross-attention: a window around a position in the keys (Luong et al., 2015;
// attention/local.h).
//
//     AttentionVariant variant = LocalP{5} + Additive{};                                   // "local-p=5+additive"
//
// Parameters: none of LocalM; of LocalP query (D,D), score (D).
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct LocalM {  // "local-m[=radius]": around the query's own position
  int64_t radius = 10;
  bool operator==(const LocalM&) const = default;
};

struct LocalP {  // "local-p[=radius]": around a position predicted from the query, the weights times a Gaussian
  int64_t radius = 10;
  bool operator==(const LocalP&) const = default;
};

AttentionMechanismPtr mechanism_of(const LocalM&);
AttentionMechanismPtr mechanism_of(const LocalP&);

}  // namespace qkv
