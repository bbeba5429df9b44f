#include "qkv/attention/attention.h"

#include <algorithm>

#include "qkv/attention/engine/engine.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/error.h"

namespace qkv {
namespace {

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v) {
  // The shapes are put into words only when something is wrong: this runs for every token of a translation.
  const auto check = [&](bool holds, std::string_view message) {
    if (holds) return;
    fail("attention", "{}; q is {}, k is {}, v is {}", message, describe("BHTD", q.shape()),
         describe("BGSD", k.shape()), describe("BGSE", v.shape()));
  };
  for (const Tensor* x : {&q, &k, &v}) {
    require(x->dtype() == DType::f32, "attention", "q, k and v must be f32, got {}", name_of(x->dtype()));
    check(x->rank() == 4, "expected four axes, q (B,H,T,D), k (B,G,S,D), v (B,G,S,E)");
    check(x->dim(3) <= 1 || x->stride(3) == 1, "the last axis must be contiguous");
  }
  check(q.dim(0) == k.dim(0) && q.dim(0) == v.dim(0), "the batch B differs");
  check(k.dim(1) == v.dim(1), "k and v must have the same number of heads G");
  check(k.dim(1) > 0 && q.dim(1) % k.dim(1) == 0, "G key/value heads must divide H query heads");
  check(k.dim(2) == v.dim(2), "k and v must have the same number of keys S");
}

Tensor with_contiguous_rows(const Tensor& x) { return x.dim(3) <= 1 || x.stride(3) == 1 ? x : x.clone(); }

AttentionCall prepare(const Score::Prepared& prepared, const Tensor& v, const AttentionOptions& options) {
  const Tensor q = with_contiguous_rows(prepared.q.value()), k = with_contiguous_rows(prepared.k.value());
  if (q.dim(3) != k.dim(3))
    fail("attention", "queries and keys must have the same width D for {}: q is {}, k is {}",
         options.score ? options.score->name() : "scaled_dot()", describe("BHTD", q.shape()),
         describe("BGSD", k.shape()));
  AttentionCall call = {
      .shape =
          {.B = q.dim(0), .H = q.dim(1), .G = k.dim(1), .T = q.dim(2), .S = k.dim(2), .D = q.dim(3), .E = v.dim(3)},
      .q = q,
      .k = k,
      .v = v,
      .score = options.score ? options.score : scaled_dot(),
      .modify = options.modify,
      .mask = options.mask,
      .reweigh = options.reweigh};
  if (call.mask) call.mask->check(call.shape);
  for (const ModifierPtr& modifier : call.modify) modifier->check(call.shape);
  for (const ReweigherPtr& reweigher : call.reweigh) reweigher->check(call.shape);
  return call;
}

AttentionVariables run(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options,
                       bool with_weights) {
  check_inputs(q.value(), k.value(), v.value());
  const Score::Prepared prepared = options.score ? options.score->prepare(q, k) : Score::Prepared{q, k};
  const AttentionCall call = prepare(prepared, v.value(), options);
  const ForwardResult forward = attention_forward(call);

  AttentionVariables result;
  if (with_weights) {
    result.weights = attention_weights(call, forward.statistics);
    result.lse = log_sum_exp(forward.statistics);
  }
  std::vector<Variable> inputs = {prepared.q, prepared.k, v};
  for (const Variable& parameter : call.score->parameters()) inputs.push_back(parameter);
  for (const ModifierPtr& modifier : call.modify)
    for (const Variable& parameter : modifier->parameters()) inputs.push_back(parameter);
  if (!recording(inputs)) {
    result.out = forward.out;
    return result;
  }
  result.out = record("attention", std::move(inputs), forward.out,
                      [call, forward](const Tensor& dout, const std::vector<bool>&) {
                        BackwardResult g = attention_backward(call, forward, dout);
                        std::vector<Tensor> grads = {g.dq, g.dk, g.dv};
                        grads.insert(grads.end(), g.parameters.begin(), g.parameters.end());
                        return grads;
                      });
  return result;
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  const NoGrad guard;
  return run(q, k, v, options, false).out.value();
}

Variable attention(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options) {
  return run(q, k, v, options, false).out;
}

AttentionResult attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const AttentionOptions& options) {
  const NoGrad guard;
  AttentionVariables result = run(q, k, v, options, true);
  return {result.out.value(), result.weights, result.lse};
}

AttentionVariables attention_with_weights(const Variable& q, const Variable& k, const Variable& v,
                                          const AttentionOptions& options) {
  return run(q, k, v, options, true);
}

}  // namespace qkv
