// The state of one forward pass: training or not, the random numbers of its dropouts, and the attention weights
// that are to be recorded.
//
//     Pass pass{.training = true, .seed = seed, .step = step};
//     Variable y = layer.forward(x, pass);
//
//     AttentionLog log;
//     Pass recording{.log = &log};
//     model.encode(source, lengths, recording);
//     log.weights(AttentionUse::encoder, 0)             // (B,H,S,S) of the first encoder layer
#pragma once

#include <any>
#include <cstdint>
#include <optional>
#include <vector>

#include "qkv/base/random.h"
#include "qkv/layer/attention_use.h"
#include "qkv/layer/sequence_part.h"
#include "qkv/op/dropout.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct AttentionLog {
  struct Source {
    AttentionUse use = AttentionUse::encoder;
    int64_t layer = 0;  // from 0
    bool operator==(const Source&) const = default;
  };
  struct Entry {
    Source source;
    Tensor weights;  // (B,H,T,S); the mean over the heads: (B,T,S)
  };

  std::optional<Source> only = {};  // record only this attention; none: all
  bool mean_over_heads = false;     // much less memory: no (B,H,T,S) is made. Not while gradients are recorded.
  std::vector<Entry> entries = {};  // in the order of computation

  bool records(const Source& source) const { return !only || *only == source; }
  // Of one attention. Error when it was not recorded.
  const Tensor& weights(AttentionUse use, int64_t layer) const;
};

struct Pass {
  bool training = false;
  uint64_t seed = 0, step = 0;  // dropout is a function of these and of the index of the dropout in the pass
  AttentionLog* log = nullptr;
  std::any input = {};    // what a mechanism needs to know about the rows: GlobalTokens (mechanism/global_tokens.h)
  uint64_t dropouts = 0;  // dropouts so far in this pass
  // Decoding: several new positions of a row, after its first ones, get the bits that they have one by one.
  bool one_by_one = false;
  // Training: blocks keep their inputs alone, and backward() computes the rest again (autograd/recompute.h).
  bool recompute = false;
  // What this process has of each sequence: all, or where several share a sequence its rows.
  SequencePart part = {};

  // The next dropout of the pass; its rate is 0 outside training.
  Dropout dropout(float rate) {
    if (!training || rate == 0) return {};
    return {.rate = rate, .seed = seed, .stream = mix(step, dropouts++), .part = part.zigzag()};
  }
};

}  // namespace qkv
