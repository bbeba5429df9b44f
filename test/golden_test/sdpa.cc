// Scaled dot-product attention under every mask of the group.
#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/prefix.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"
#include "test/golden_test/case.h"

namespace qkv::golden {
namespace {

MaskPtr mask_of(Case& c) {
  MaskPtr mask;
  if (c.flag("causal")) mask = causal();
  if (c.holds("prefix_lens")) {
    const Tensor lengths = c.tensor("prefix_lens").contiguous_copy();
    const auto values = lengths.span<int32_t>();
    mask = mask | prefix({values.begin(), values.end()});
  }
  if (c.has("window")) {
    const std::vector<int64_t> reach = c.integers("window");
    require<InputError>(reach.size() == 2, "golden", "window has {} numbers, expected [left, right]", reach.size());
    mask = mask & window(reach[0], reach[1]);
  }
  if (c.holds("q_docs")) mask = mask & documents(c.tensor("q_docs"), c.tensor("kv_docs"));
  if (c.holds("valid_lens")) mask = mask & padding(c.tensor("valid_lens"));
  if (c.holds("mask")) mask = mask & dense(c.tensor("mask"));
  return mask;
}

void sdpa(Case& c) {
  for (const char* modifier : {"softcap", "t5"})
    if (c.has(modifier)) throw NotBuilt(fmt::format("score modifiers are not built yet: {}", modifier));
  for (const char* modifier : {"bias", "slopes", "rel_bias"})
    if (c.holds(modifier)) throw NotBuilt(fmt::format("score modifiers are not built yet: {}", modifier));
  if (c.holds("sink")) throw NotBuilt("softmax with a sink is not built yet");
  c.knows({"scale", "causal", "window"}, {"q", "k", "v", "mask", "valid_lens", "prefix_lens", "q_docs", "kv_docs"});
  const auto [out, weights, lse] =
      attention_with_weights(c.leaf("q"), c.leaf("k"), c.leaf("v"),
                             {.score = dot(static_cast<float>(c.number("scale"))), .mask = mask_of(c)});
  c.compare("out", out.value());
  c.compare_if_held("weights", weights);
  c.compare_if_held("lse", lse);
  c.backward(out);
}

const Group group("sdpa", sdpa);

}  // namespace
}  // namespace qkv::golden
