#include "qkv/attention/attention.h"

#include "qkv/attention/engine/call.h"
#include "qkv/attention/engine/engine.h"
#include "qkv/attention/forward_backward.h"
#include "qkv/base/error.h"
#include "qkv/op/convert.h"

namespace qkv {
namespace {

enum class Weights { none, all, mean };

struct Run {
  Variable out;
  ForwardResult forward;
  Tensor weights, lse;
};

// With `known`, a forward that ran before, only the tape is made.
Run run(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options, Weights wanted,
        const ForwardResult* known = nullptr, bool for_backward = false) {
  check_inputs(q.value(), k.value(), v.value());
  if (q.value().dtype() == DType::bf16) {
    const AttentionShape shape = {.T = q.dim(2), .D = prepared_width(q.value(), k.value(), options), .E = v.dim(3)};
    if (!takes_bf16(shape, options, !for_backward && !recording(inputs_of(q, k, v, options)))) {
      const auto floats = [](const Variable& x) { return convert(x, DType::f32); };
      std::optional<ForwardResult> known_floats;
      if (known) known_floats = {known->out.to(DType::f32), known->statistics};
      Run result =
          run(floats(q), floats(k), floats(v), options, wanted, known ? &*known_floats : nullptr, for_backward);
      result.out = convert(result.out, DType::bf16);
      return result;
    }
  }
  const Score::Prepared prepared = options.score ? options.score->prepare(q, k) : Score::Prepared{q, k};
  std::vector<Variable> inputs = inputs_of(prepared.q, prepared.k, v, options);
  const bool with_tape = recording(inputs);
  const AttentionCall call = prepare(prepared, v.value(), options, with_tape || for_backward);
  const ForwardResult forward = known ? *known : forward_pass(call);

  Run result = {.out = {}, .forward = forward, .weights = {}, .lse = {}};
  if (wanted != Weights::none) {
    result.weights = wanted == Weights::all ? attention_weights(call, forward.statistics)
                                            : mean_attention_weights(call, forward.statistics);
    result.lse = log_sum_exp(forward.statistics);
  }
  if (!with_tape) {
    result.out = forward.out;
    return result;
  }
  result.out = record("attention", std::move(inputs), forward.out,
                      [call, forward](const Tensor& dout, const std::vector<bool>&) {
                        BackwardResult g = backward_pass(call, forward, dout);
                        std::vector<Tensor> grads = {g.dq, g.dk, g.dv};
                        grads.insert(grads.end(), g.parameters.begin(), g.parameters.end());
                        return grads;
                      });
  return result;
}

AttentionResult run_without_gradients(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionOptions& options, Weights wanted) {
  const NoGrad guard;
  Run result = run(q, k, v, options, wanted);
  return {result.out.value(), result.weights, result.lse};
}

}  // namespace

Tensor attention(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionOptions& options) {
  return run_without_gradients(q, k, v, options, Weights::none).out;
}

Variable attention(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options) {
  return run(q, k, v, options, Weights::none).out;
}

AttentionResult attention_with_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                       const AttentionOptions& options) {
  return run_without_gradients(q, k, v, options, Weights::all);
}

AttentionVariables attention_with_weights(const Variable& q, const Variable& k, const Variable& v,
                                          const AttentionOptions& options) {
  Run result = run(q, k, v, options, Weights::all);
  return {result.out, result.weights, result.lse};
}

AttentionResult attention_with_mean_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const AttentionOptions& options) {
  return run_without_gradients(q, k, v, options, Weights::mean);
}

AttentionForward attention_forward(const Tensor& q, const Tensor& k, const Tensor& v,
                                   const AttentionOptions& options) {
  const NoGrad guard;
  const Run result = run(q, k, v, options, Weights::none, nullptr, /*for_backward=*/true);
  const SoftmaxStatistics& statistics = result.forward.statistics;
  return {result.out.value(), statistics.maximum, statistics.inverse_sum};
}

AttentionGradients attention_backward(const AttentionForward& forward, const Tensor& q, const Tensor& k,
                                      const Tensor& v, const Tensor& dout, const AttentionOptions& options) {
  require(dout.shape() == forward.out.shape() && dout.dtype() == forward.out.dtype(), "attention_backward",
          "the gradient of the output is {} {}, the output {} {}", name_of(dout.dtype()),
          describe("BHTE", dout.shape()), name_of(forward.out.dtype()), describe("BHTE", forward.out.shape()));
  const Variable::Options learnt{.requires_grad = true};
  const Variable x(q, learnt), y(k, learnt), z(v, learnt);
  const ForwardResult known = {forward.out, {forward.maximum, forward.inverse_sum}};
  run(x, y, z, options, Weights::none, &known).out.backward(dout);
  // A score may not look at the keys: location.
  const auto gradient = [](const Variable& of) {
    return of.grad().defined() ? of.grad() : Tensor::zeros(of.shape(), of.value().dtype());
  };
  return {gradient(x), gradient(y), gradient(z)};
}

}  // namespace qkv
