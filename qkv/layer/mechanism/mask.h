// Masks of self-attention. They are relative to the position of the query, never to the end of a row, so that a
// decoding step sees the same keys as a pass over the whole sequence. Several masks of a variant are joined with &.
//
//     AttentionVariant variant = SlidingWindow{64} + Prefix{4};                            // "window=64+prefix=4"
//     AttentionVariant sparse = BigBird{.block = 8, .random = 2};                          // "bigbird=8:3:1:2"
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct SlidingWindow {  // "window=radius": attention/mask/window.h
  int64_t radius = 0;
  bool operator==(const SlidingWindow&) const = default;
};

struct Dilated {  // "dilated=radius:dilation": attention/mask/dilated.h
  int64_t radius = 0, dilation = 0;
  bool operator==(const Dilated&) const = default;
};

struct Strided {  // "strided=stride", in both directions: attention/mask/strided.h
  int64_t stride = 0;
  bool operator==(const Strided&) const = default;
};

// "longformer=radius:globals": attention/mask/longformer.h. The first tokens are global, and those of the pass
// (mechanism/global_tokens.h).
struct Longformer {
  int64_t radius = 0, globals = 0;
  bool operator==(const Longformer&) const = default;
};

struct BigBird {  // "bigbird[=block:window:globals:random]", window odd: attention/mask/bigbird.h
  int64_t block = 64, window = 3, globals = 1, random = 3;
  bool operator==(const BigBird&) const = default;
};

struct Prefix {  // "prefix=count": the first keys, joined to the other masks with |
  int64_t count = 0;
  bool operator==(const Prefix&) const = default;
};

AttentionMechanismPtr mechanism_of(const SlidingWindow&);
AttentionMechanismPtr mechanism_of(const Dilated&);
AttentionMechanismPtr mechanism_of(const Strided&);
AttentionMechanismPtr mechanism_of(const Longformer&);
AttentionMechanismPtr mechanism_of(const BigBird&);
AttentionMechanismPtr mechanism_of(const Prefix&);

}  // namespace qkv
