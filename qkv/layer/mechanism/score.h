// Scores other than the scaled dot product. All heads share the parameters of a score; each has its own projections.
//
//     AttentionVariant bahdanau = Additive{.width = 256};                                  // "additive=256"
//     AttentionVariant luong = Bilinear{} + LocalP{};                                      // "bilinear+local-p"
//
// Parameters: Bilinear matrix (D,D); Additive query (width,D), key (width,D), score (width); Cosine gain (1); Location
// rows (keys,D).
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct Dot {         // "dot[=scale]", scale q . k: attention/score/dot.h
  double scale = 1;  // 1: none, as in T5; Gemma 2 has one that is not 1 / sqrt(D)
  bool operator==(const Dot&) const = default;
};

struct Bilinear {  // "bilinear": attention/score/bilinear.h
  bool operator==(const Bilinear&) const = default;
};

struct Additive {     // "additive[=width]": attention/score/additive.h
  int64_t width = 0;  // of the hidden layer; 0: that of a head
  bool operator==(const Additive&) const = default;
};

struct Cosine {  // "cosine[=scale]": attention/score/cosine.h
  double scale = 10;
  bool operator==(const Cosine&) const = default;
};

struct Distance {  // "distance": attention/score/distance.h
  bool operator==(const Distance&) const = default;
};

struct Gaussian {  // "gaussian=sigma", sigma fixed: the projections can scale queries and keys
  double sigma = 0;
  bool operator==(const Gaussian&) const = default;
};

struct Location {  // "location[=keys]", no key projections: attention/score/location.h
  int64_t keys = 256;
  bool operator==(const Location&) const = default;
};

AttentionMechanismPtr mechanism_of(const Dot&);
AttentionMechanismPtr mechanism_of(const Bilinear&);
AttentionMechanismPtr mechanism_of(const Additive&);
AttentionMechanismPtr mechanism_of(const Cosine&);
AttentionMechanismPtr mechanism_of(const Distance&);
AttentionMechanismPtr mechanism_of(const Gaussian&);
AttentionMechanismPtr mechanism_of(const Location&);

// A learned vector that scores have a dot product with, normal with deviation 1 / sqrt(width).
Parameter score_vector(const Axis& width);

}  // namespace qkv
