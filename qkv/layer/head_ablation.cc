#include "qkv/layer/head_ablation.h"

#include <utility>

#include "qkv/base/error.h"

namespace qkv {
namespace {

thread_local const std::vector<AttentionHead>* ablated_heads = nullptr;

}  // namespace

HeadAblation::HeadAblation(std::vector<AttentionHead> heads)
    : heads_(std::move(heads)), before_(std::exchange(ablated_heads, &heads_)) {}

HeadAblation::~HeadAblation() { ablated_heads = before_; }

bool are_heads_ablated() { return ablated_heads != nullptr; }

const Variable& without_ablated(const Variable& heads, AttentionUse use, int64_t layer) {
  if (!ablated_heads) return heads;
  for (const AttentionHead& ablated : *ablated_heads) {
    if (ablated.use != use || ablated.layer != layer) continue;
    require(!heads.requires_grad(), "HeadAblation",
            "heads are ablated in inference only, and gradients are recorded");
    require(ablated.head >= 0 && ablated.head < heads.dim(1), "HeadAblation", "layer {} has {} heads, got head {}",
            layer, heads.dim(1), ablated.head);
    heads.value().select(1, ablated.head).fill(0);
  }
  return heads;
}

}  // namespace qkv
