// What training is made of: norms, feed-forward, loss, tied embedding.
#include <cmath>
#include <limits>

#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/cross_entropy.h"
#include "qkv/op/embedding.h"
#include "qkv/op/linear.h"
#include "qkv/op/norm.h"
#include "qkv/op/position.h"
#include "qkv/op/softmax.h"
#include "test/golden_test/case.h"

namespace qkv::golden {
namespace {

void finish_with(Case& c, const Variable& out) {
  c.compare("out", out.value());
  c.backward(out);
}

void layer_norm_case(Case& c) {
  c.knows({"op", "eps"}, {"x", "weight", "bias"});
  finish_with(c, layer_norm(c.leaf("x"), c.leaf("weight"), c.leaf("bias"), static_cast<float>(c.number("eps"))));
}

void rms_norm_case(Case& c) {
  c.knows({"op", "eps"}, {"x", "weight"});
  finish_with(c, rms_norm(c.leaf("x"), c.leaf("weight"), static_cast<float>(c.number("eps"))));
}

void swiglu_case(Case& c) {
  c.knows({"op", "activation"}, {"x", "w_gate", "w_up", "w_down"});
  const Variable x = c.leaf("x");
  const Variable hidden = multiply(silu(linear(x, c.leaf("w_gate"))), linear(x, c.leaf("w_up")));
  finish_with(c, linear(hidden, c.leaf("w_down")));
}

void feed_forward_case(Case& c) {
  const std::string name = c.text("activation");
  if (name == "swiglu") return swiglu_case(c);
  c.knows({"op", "activation"}, {"x", "w1", "b1", "w2", "b2"});
  Variable (*activation)(const Variable&) = name == "relu"        ? relu
                                            : name == "gelu"      ? gelu
                                            : name == "gelu_tanh" ? gelu_tanh
                                            : name == "silu"      ? silu
                                                                  : nullptr;
  if (!activation) throw NotBuilt("activation " + name + " is not known");
  finish_with(c, linear(activation(linear(c.leaf("x"), c.leaf("w1"), c.leaf("b1"))), c.leaf("w2"), c.leaf("b2")));
}

void cross_entropy_case(Case& c) {
  c.knows({"op", "label_smoothing", "ignore_index", "reduction"}, {"logits", "targets", "token_losses"});
  const std::string reduction = c.has("reduction") ? c.text("reduction") : "mean";
  if (reduction != "mean" && reduction != "sum") throw NotBuilt("reduction " + reduction + " is not known");
  CrossEntropyOptions options;
  if (c.has("label_smoothing")) options.label_smoothing = static_cast<float>(c.number("label_smoothing"));
  // No argument: no target is ignored.
  options.ignore_index =
      c.has("ignore_index") ? static_cast<int32_t>(c.integer("ignore_index")) : std::numeric_limits<int32_t>::min();
  if (reduction == "sum") options.reduction = CrossEntropyOptions::Reduction::sum;
  const CrossEntropy result = cross_entropy(c.leaf("logits"), c.tensor("targets"), options);
  c.compare("out", result.loss.value());
  c.compare_if_held("token_losses", result.token_losses);
  result.loss.backward();
  c.compare_gradients();
}

void tied_embedding_case(Case& c) {
  c.knows({"op"}, {"tokens", "embedding", "x", "logits"});
  const Variable table = c.leaf("embedding");
  const Tensor tokens = c.tensor("tokens");
  const Variable x = embedding(
      tokens, table,
      {.scale = std::sqrt(static_cast<float>(table.dim(1))), .positions = sinusoidal(tokens.dim(1), table.dim(1))});
  const Variable logits = linear(x, table);
  c.compare_if_held("x", x.value());
  c.compare_if_held("logits", logits.value());
  finish_with(c, softmax(logits));
}

void train(Case& c) {
  const std::string op = c.text("op");
  if (op == "layer_norm") return layer_norm_case(c);
  if (op == "rms_norm") return rms_norm_case(c);
  if (op == "ffn") return feed_forward_case(c);
  if (op == "cross_entropy") return cross_entropy_case(c);
  if (op == "tied_embedding") return tied_embedding_case(c);
  throw NotBuilt("op " + op + " is not built yet");
}

const Group group("train", train);

}  // namespace
}  // namespace qkv::golden
