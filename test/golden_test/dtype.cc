// Attention in bfloat16: inputs that bf16 holds exactly, results of exact arithmetic.
//
// A gradient may have twice the error of the plain bf16 computation of the same call (sums in float32, everything that
// is stored in bf16), which is measured here. Constant are
//   2^-8   of the output: twice the rounding of its largest number to bf16; the plain computation is less exact
//   2^-12  of weights and lse, which are float32: the bf16 units add exponentials that are rounded to bf16
//   2^-9   at least of a gradient, its own rounding: the plain error of a few numbers may be small by chance
#include <algorithm>

#include "qkv/test_support/reference_attention.h"
#include "test/golden_test/sdpa.h"

namespace qkv::golden::dtype_cases {

using namespace test;

// The call of the case, and the parameters with a gradient in the order of its reference.
struct PlainCall {
  ReferenceCall call;
  std::vector<std::string> parameters;
};

PlainCall plain_call(Case& c) {
  PlainCall plain = {.call = {.q = c.tensor("q"),
                              .k = c.tensor("k"),
                              .v = c.tensor("v"),
                              .score = reference::dot(c.number("scale"))},
                     .parameters = {}};
  if (c.holds("grad_out")) plain.call.dout = c.tensor("grad_out");
  const auto add = [&](const char* parameter, const reference::ModifierRecipe& modifier) {
    plain.call.modify.push_back(modifier);
    plain.parameters.push_back(parameter);
  };
  if (c.has("softcap")) plain.call.modify.push_back(reference::softcap(c.number("softcap")));
  if (c.holds("bias")) add("bias", reference::bias(c.tensor("bias")));
  if (c.holds("slopes")) add("slopes", reference::alibi(c.tensor("slopes")));
  if (c.has("t5")) add("rel_bias", reference::relative_bias(c.tensor("rel_bias"), buckets_given(c)));
  if (c.holds("sink")) {
    plain.call.normalize = reference::softmax_with_sink(c.tensor("sink"));
    plain.parameters.push_back("sink");
  }
  return plain;
}

void set_tolerances(Case& c) {
  constexpr double rounding = 0x1p-9;
  c.tolerate("out", 2 * rounding);
  for (const char* name : {"weights", "lse"}) c.tolerate(name, 0x1p-12);
  PlainCall plain = plain_call(c);
  const AttentionShape shape = plain.call.shape();
  plain.call.visible = visible_by(mask_given(c), shape);
  const ReferenceResult r = reference_attention(plain.call, Precision::bfloat16);
  const auto tolerate = [&](const std::string& name, const ReferenceTensor& x) {
    if (c.holds(name)) c.tolerate(name, std::max(rounding, 2 * c.error_of(name, x.values)));
  };
  tolerate("grad_q", r.dq);
  tolerate("grad_k", r.dk);
  tolerate("grad_v", r.dv);
  for (size_t i = 0; i < plain.parameters.size(); ++i) tolerate("grad_" + plain.parameters[i], r.parameters[i]);
}

void dtype(Case& c) {
  if (c.text("dtype") != "bf16") throw NotBuilt("attention in " + c.text("dtype") + " is not built yet");
  c.knows({"dtype", "scale", "causal", "window", "softcap", "t5"},
          {"q", "k", "v", "mask", "valid_lens", "prefix_lens", "q_docs", "kv_docs", "bias", "slopes", "rel_bias",
           "sink"});
  set_tolerances(c);
  compare_sdpa(c, DType::bf16);
}

const Group group("dtype", dtype);

}  // namespace qkv::golden::dtype_cases
