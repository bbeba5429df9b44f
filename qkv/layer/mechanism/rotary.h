// Rotary position embedding, RoPE: the heads of queries and keys are rotated by their positions (Su et al., 2021;
// op/rotary.h), in the first `width` columns, with the frequencies of models that were extended to longer texts
// (op/rotary_scaling.h).
//
//     AttentionVariant variant = Rotary{.base = 5e5};                                      // "rotary=500000"
//     AttentionVariant partial = Rotary{.width = 32, .interleaved = true};       // "rotary=10000:32:interleaved=true"
//     AttentionVariant yarn = Rotary{.scaling = {.type = RotaryScalingType::yarn, .factor = 4, .original_positions = 4096}};
//                                                   // "rotary=scaling=yarn:factor=4:original-positions=4096"
#pragma once

#include "qkv/layer/mechanism/mechanism.h"
#include "qkv/op/rotary_scaling.h"

namespace qkv {

struct Rotary {  // "rotary[=base:width:name=value...]"
  double base = 10000;
  int64_t width = 0;         // of a head; 0: all of it
  bool interleaved = false;  // pairs of neighbors, as in Llama's own files and GPT-J; else of the two halves
  RotaryScaling scaling = {};
  bool operator==(const Rotary&) const = default;
};

AttentionMechanismPtr mechanism_of(const Rotary&);

}  // namespace qkv
