#include "qkv/attention/attention.h"

#include "qkv/attention/engine/call.h"
#include "qkv/attention/engine/engine.h"
#include "qkv/op/convert.h"

namespace qkv {
namespace {

enum class Weights { none, all, mean };

AttentionVariables run(const Variable& q, const Variable& k, const Variable& v, const AttentionOptions& options,
                       Weights wanted) {
  check_inputs(q.value(), k.value(), v.value());
  if (q.value().dtype() == DType::bf16) {
    const AttentionShape shape = {.T = q.dim(2), .D = prepared_width(q.value(), k.value(), options), .E = v.dim(3)};
    if (!takes_bf16(shape, options, !recording(inputs_of(q, k, v, options)))) {
      const auto floats = [](const Variable& x) { return convert(x, DType::f32); };
      AttentionVariables result = run(floats(q), floats(k), floats(v), options, wanted);
      result.out = convert(result.out, DType::bf16);
      return result;
    }
  }
  const Score::Prepared prepared = options.score ? options.score->prepare(q, k) : Score::Prepared{q, k};
  std::vector<Variable> inputs = inputs_of(prepared.q, prepared.k, v, options);
  const bool with_backward = recording(inputs);
  const AttentionCall call = prepare(prepared, v.value(), options, with_backward);
  const ForwardResult forward = attention_forward(call);

  AttentionVariables result;
  if (wanted != Weights::none) {
    result.weights = wanted == Weights::all ? attention_weights(call, forward.statistics)
                                            : mean_attention_weights(call, forward.statistics);
    result.lse = log_sum_exp(forward.statistics);
  }
  if (!with_backward) {
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

AttentionResult run_without_gradients(const Tensor& q, const Tensor& k, const Tensor& v,
                                      const AttentionOptions& options, Weights wanted) {
  const NoGrad guard;
  AttentionVariables result = run(q, k, v, options, wanted);
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
  return run(q, k, v, options, Weights::all);
}

AttentionResult attention_with_mean_weights(const Tensor& q, const Tensor& k, const Tensor& v,
                                            const AttentionOptions& options) {
  return run_without_gradients(q, k, v, options, Weights::mean);
}

}  // namespace qkv
