// Attention sink: a learned score per head that belongs to no key takes part of the weight
// (attention/normalize/softmax.h).
//
//     AttentionVariant variant = SlidingWindow{64} + SoftmaxWithSink{};                // "window=64+softmax-with-sink"
//
// Parameters: scores (H).
#pragma once

#include "qkv/layer/mechanism/mechanism.h"

namespace qkv {

struct SoftmaxWithSink {  // "softmax-with-sink"
  bool operator==(const SoftmaxWithSink&) const = default;
};

AttentionMechanismPtr mechanism_of(const SoftmaxWithSink&);

}  // namespace qkv
