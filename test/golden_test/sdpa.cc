// Scaled dot-product attention under every mask and score modifier of the group.
#include "test/golden_test/sdpa.h"

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/dense.h"
#include "qkv/attention/mask/documents.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/mask/prefix.h"
#include "qkv/attention/mask/window.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/relative_bias.h"
#include "qkv/attention/modify/softcap.h"
#include "qkv/attention/normalize/softmax.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"
#include "qkv/op/convert.h"

namespace qkv::golden {

MaskPtr mask_given(Case& c) {
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

RelativeBuckets buckets_given(Case& c) {
  return {.bidirectional = c.flag("t5.bidirectional"),
          .num_buckets = c.integer("t5.num_buckets"),
          .max_distance = c.integer("t5.max_distance")};
}

// In the order of the formulas: a modifier works on the scores that the one before has modified.
std::vector<ModifierPtr> modifiers_given(Case& c) {
  std::vector<ModifierPtr> modify;
  if (c.has("softcap")) modify.push_back(softcap(static_cast<float>(c.number("softcap"))));
  if (c.holds("bias")) modify.push_back(bias(c.leaf("bias")));
  if (c.holds("slopes")) modify.push_back(alibi(c.leaf("slopes")));
  if (c.has("t5")) modify.push_back(relative_bias(c.leaf("rel_bias"), buckets_given(c)));
  return modify;
}

NormalizerPtr normalizer_given(Case& c) { return c.holds("sink") ? softmax_with_sink(c.leaf("sink")) : softmax(); }

void compare_attention(Case& c, const AttentionOptions& options, DType dtype) {
  const auto input = [&](const char* name) { return convert(c.leaf(name), dtype); };
  const auto [out, weights, lse] = attention_with_weights(input("q"), input("k"), input("v"), options);
  const Variable floats = convert(out, DType::f32);
  c.compare("out", floats.value());
  c.compare_if_held("weights", weights);
  c.compare_if_held("lse", lse);
  c.backward(floats);
}

void compare_sdpa(Case& c, DType dtype) {
  compare_attention(c,
                    {.score = dot(static_cast<float>(c.number("scale"))),
                     .modify = modifiers_given(c),
                     .mask = mask_given(c),
                     .normalize = normalizer_given(c)},
                    dtype);
}

namespace {

void sdpa(Case& c) {
  c.knows({"scale", "causal", "window", "softcap", "t5"},
          {"q", "k", "v", "mask", "valid_lens", "prefix_lens", "q_docs", "kv_docs", "bias", "slopes", "rel_bias",
           "sink"});
  compare_sdpa(c, DType::f32);
}

const Group group("sdpa", sdpa);

}  // namespace
}  // namespace qkv::golden
