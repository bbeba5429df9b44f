// Attention without a head axis, as "Dive into Deep Learning" writes it: masked softmax, dot-product and additive
// attention over valid lengths, and the batched matrix product.
#include <cmath>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/dot.h"
#include "qkv/op/batch_matmul.h"
#include "qkv/op/shape.h"
#include "qkv/op/softmax.h"
#include "test/golden_test/case.h"

namespace qkv::golden::d2l_cases {

Variable with_head_axis(const Variable& x) { return reshape(x, {x.dim(0), 1, x.dim(1), x.dim(2)}); }

void masked_softmax_case(Case& c) {
  c.knows({"op"}, {"x", "valid_lens"});
  const Variable x = c.leaf("x");
  const Variable out = c.holds("valid_lens") ? masked_softmax(x, c.tensor("valid_lens")) : softmax(x);
  c.compare("out", out.value());
  c.backward(out);
}

void attention_case(Case& c, const ScorePtr& score) {
  const MaskPtr mask = c.holds("valid_lens") ? padding(c.tensor("valid_lens")) : MaskPtr();
  const auto [y, weights, lse] =
      attention_with_weights(with_head_axis(c.leaf("q")), with_head_axis(c.leaf("k")), with_head_axis(c.leaf("v")),
                             {.score = score, .mask = mask});
  const Variable out = reshape(y, {y.dim(0), y.dim(2), y.dim(3)});
  c.compare("out", out.value());
  c.compare_if_held("weights", weights.reshape({weights.dim(0), weights.dim(2), weights.dim(3)}));
  c.compare_if_held("lse", lse.reshape({lse.dim(0), lse.dim(2)}));
  c.backward(out);
}

void dot_product_case(Case& c) {
  c.knows({"op", "scale"}, {"q", "k", "v", "valid_lens"});
  attention_case(c, c.has("scale") ? dot(static_cast<float>(c.number("scale"))) : scaled_dot());
}

void additive_case(Case& c) {
  c.knows({"op"}, {"q", "k", "v", "valid_lens", "w_q", "w_k", "w_v"});
  attention_case(c, additive(c.leaf("w_q"), c.leaf("w_k"), c.leaf("w_v")));
}

void bmm_case(Case& c) {
  c.knows({"op"}, {"q", "k"});
  const Variable out = batch_matmul(c.leaf("q"), c.leaf("k"));
  c.compare("out", out.value());
  c.backward(out);
}

void d2l(Case& c) {
  const std::string op = c.text("op");
  if (op == "masked_softmax") return masked_softmax_case(c);
  if (op == "dot_product_attention") return dot_product_case(c);
  if (op == "additive_attention") return additive_case(c);
  if (op == "bmm") return bmm_case(c);
  throw NotBuilt("op " + op + " is not known");
}

const Group group("d2l", d2l);

}  // namespace qkv::golden::d2l_cases
