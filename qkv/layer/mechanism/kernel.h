// Kernel (Nadaraya-Watson) regression: a kernel of the distance |q - k| / sigma instead of score and softmax
// (attention/normalize/kernel_weights.h).
//
//     AttentionVariant variant = Epanechnikov{.sigma = 3};                                 // "epanechnikov=3"
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct Boxcar {  // "boxcar=sigma"
  double sigma = 0;
  bool operator==(const Boxcar&) const = default;
};

struct Epanechnikov {  // "epanechnikov=sigma"
  double sigma = 0;
  bool operator==(const Epanechnikov&) const = default;
};

struct Triangular {  // "triangular=sigma"
  double sigma = 0;
  bool operator==(const Triangular&) const = default;
};

struct Constant {  // "constant": the average of the visible values, without query and key projections
  bool operator==(const Constant&) const = default;
};

AttentionMechanismPtr mechanism_of(const Boxcar&);
AttentionMechanismPtr mechanism_of(const Epanechnikov&);
AttentionMechanismPtr mechanism_of(const Triangular&);
AttentionMechanismPtr mechanism_of(const Constant&);

}  // namespace qkv
