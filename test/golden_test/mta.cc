// Multi-token attention: convolutions of scores and weights, mixing of heads, norm and gate.
#include "qkv/attention/multi_token.h"
#include "qkv/base/error.h"
#include "test/golden_test/sdpa.h"

namespace qkv::golden::mta_cases {

PadKey pad_given(Case& c) {
  if (!c.has("pad_key")) return PadKey::both;
  const std::string pad = c.text("pad_key");
  if (pad == "both") return PadKey::both;
  if (pad == "left") return PadKey::left;
  if (pad == "right") return PadKey::right;
  throw NotBuilt("pad_key " + pad + " is not known");
}

void mta(Case& c) {
  c.knows({"scale", "causal", "pad_key", "eps", "lambda", "layer_index", "gate"},
          {"q", "k", "v", "valid_lens", "pre_conv", "pre_mix", "post_conv", "post_head", "post_mix", "norm_weight",
           "gate_weight", "gate_bias"});
  const MultiTokenOptions options = {.pre_conv = c.leaf_if_held("pre_conv"),
                                     .pre_mix = c.leaf_if_held("pre_mix"),
                                     .post_conv = c.leaf_if_held("post_conv"),
                                     .post_head = c.leaf_if_held("post_head"),
                                     .post_mix = c.leaf_if_held("post_mix"),
                                     .pad_key = pad_given(c),
                                     .mask = mask_given(c),
                                     .scale = static_cast<float>(c.number("scale"))};
  auto [out, weights] = multi_token_attention_with_weights(c.leaf("q"), c.leaf("k"), c.leaf("v"), options);
  if (c.holds("norm_weight"))
    out = normalize_heads(out, c.leaf("norm_weight"), static_cast<float>(c.number("eps")),
                          c.has("lambda") ? static_cast<float>(c.number("lambda")) : 0.0f);
  if (c.holds("gate_weight")) out = gate_heads(out, c.leaf("gate_weight"), c.leaf("gate_bias"));
  c.compare("out", out.value());
  c.compare_if_held("weights", weights);
  c.backward(out);
}

const Group group("mta", mta);

}  // namespace qkv::golden::mta_cases
