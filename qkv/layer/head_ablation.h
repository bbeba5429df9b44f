// Attention heads whose output is replaced by zero, to see what a model does without them (Michel et al., "Are Sixteen Heads
// Really Better than One?", 2019).
//
//     head_h = 0    instead of    attention(x Wq_h, x Wk_h, x Wv_h)               Wo and its bias stay as they are
//
//     {
//       const HeadAblation without({{AttentionUse::cross, 3, 5}});
//       translator.translate("I am cold.");                     // by a decoder whose layer 3 has no head 5 that reads the source
//     }
//
// Holds for every model that this thread computes while the object exists, in passes over whole sequences and in decoding; the
// weights that a log records are those that the head would have had. Recurrent models have one head, {cross, 0, 0}.
// Errors   Error, when a layer is computed that has fewer heads, and while gradients are recorded.
#pragma once

#include <cstdint>
#include <vector>

#include "qkv/autograd/variable.h"
#include "qkv/layer/attention_use.h"

namespace qkv {

struct AttentionHead {
  AttentionUse use = AttentionUse::encoder;
  int64_t layer = 0, head = 0;  // from 0
  bool operator==(const AttentionHead&) const = default;
};

class HeadAblation {
 public:
  explicit HeadAblation(std::vector<AttentionHead> heads);
  ~HeadAblation();  // what held before holds again
  HeadAblation(const HeadAblation&) = delete;
  HeadAblation& operator=(const HeadAblation&) = delete;

 private:
  const std::vector<AttentionHead> heads_;
  const std::vector<AttentionHead>* const before_;
};

bool are_heads_ablated();  // in this thread

// The outputs of the heads of a layer, (B,H,T,E), just computed: those that are ablated are set to zero.
const Variable& without_ablated(const Variable& heads, AttentionUse use, int64_t layer);

}  // namespace qkv
