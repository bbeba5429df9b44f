// One trip of a batch through a network: whether it trains, where its dropout draws its random numbers, and whether
// somebody wants to see the attention weights.
//
//     Pass pass{.training = true, .seed = seed, .step = step};
//     Variable y = layer.forward(x, pass);
//
//     AttentionLog log;
//     Pass look{.log = &log};           // log.entries: every layer's weights, named
//     "encoder.layers.0.self_attention"
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "qkv/base/random.h"
#include "qkv/op/dropout.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct AttentionLog {
  struct Entry {
    std::string name;
    Tensor weights;  // (B,H,T,S)
  };
  std::vector<Entry> entries;
};

struct Pass {
  bool training = false;
  uint64_t seed = 0, step = 0;  // dropout is a function of these two and of the place in the network
  AttentionLog* log = nullptr;
  uint64_t places = 0;  // dropouts met so far in this trip

  // The dropout of the next place: rate 0 outside training.
  Dropout dropout(float rate) {
    if (!training || rate == 0) return {};
    return {.rate = rate, .seed = seed, .stream = mix(step, places++)};
  }
};

}  // namespace qkv
