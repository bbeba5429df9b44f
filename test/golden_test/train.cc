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
#include "qkv/train/adam.h"
#include "qkv/train/gradient_norm.h"
#include "qkv/train/schedule.h"
#include "test/golden_test/case.h"

namespace qkv::golden::train_cases {

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

void adam_case(Case& c) {
  c.knows({"op", "lr", "beta1", "beta2", "eps", "weight_decay"}, {"p", "grads", "m", "v"});
  const double decay = c.has("weight_decay") ? c.number("weight_decay") : 0.0;
  if (c.text("op") == "adam" && decay != 0) throw NotBuilt("weight decay as part of the gradient is not known");
  Variable p(c.tensor("p").clone(), {.requires_grad = true});
  Adam adam({p}, {.beta1 = c.number("beta1"),
                  .beta2 = c.number("beta2"),
                  .eps = c.number("eps"),
                  .weight_decay = decay,
                  .decay_vectors = true});
  const Tensor grads = c.tensor("grads");
  Tensor out = Tensor::empty(grads.shape());
  for (int64_t n = 0; n < grads.dim(0); ++n) {
    p.zero_grad();
    p.backward(grads.select(0, n).clone());
    adam.step(c.number("lr"));
    out.select(0, n).copy_from(p.value());
  }
  c.compare("out", out);
  c.compare_each("m", adam.state()[0].value);
  c.compare_each("v", adam.state()[1].value);
}

void clip_case(Case& c) {
  c.knows_arguments({"op", "max_norm"});
  std::vector<std::string> names;
  std::vector<Variable> parameters;
  for (const std::string& name : c.tensors()) {
    if (name == "norm" || name.starts_with("out_")) continue;
    names.push_back(name);
    parameters.emplace_back(Tensor::zeros(c.tensor(name).shape()), Variable::Options{.requires_grad = true});
    parameters.back().backward(c.tensor(name).clone());
  }
  const double norm = clip_gradients(parameters, c.number("max_norm"));
  c.compare_each("norm", Tensor::full({1}, static_cast<float>(norm)));
  for (size_t i = 0; i < names.size(); ++i) c.compare("out_" + names[i], parameters[i].grad());
}

void noam_case(Case& c) {
  c.knows({"op", "d_model", "warmup", "factor"}, {"steps"});
  const Schedule schedule({.kind = ScheduleKind::noam,
                           .peak = c.has("factor") ? c.number("factor") : 1.0,
                           .warmup = c.integer("warmup"),
                           .d_model = c.integer("d_model")});
  const Tensor steps = c.tensor("steps").contiguous_copy();
  std::vector<float> rates;
  for (const int32_t n : steps.span<int32_t>()) rates.push_back(static_cast<float>(schedule.rate(n)));
  c.compare_each("out", Tensor::from(rates, steps.shape()));
}

void train(Case& c) {
  const std::string op = c.text("op");
  if (op == "layer_norm") return layer_norm_case(c);
  if (op == "rms_norm") return rms_norm_case(c);
  if (op == "ffn") return feed_forward_case(c);
  if (op == "cross_entropy") return cross_entropy_case(c);
  if (op == "tied_embedding") return tied_embedding_case(c);
  if (op == "adam" || op == "adamw") return adam_case(c);
  if (op == "clip_global_norm") return clip_case(c);
  if (op == "noam") return noam_case(c);
  throw NotBuilt("op " + op + " is not known");
}

const Group group("train", train);

}  // namespace qkv::golden::train_cases
