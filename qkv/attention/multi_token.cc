#include "qkv/attention/multi_token.h"

#include "qkv/attention/multi_token/walk.h"
#include "qkv/base/error.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/convert.h"
#include "qkv/op/linear.h"
#include "qkv/op/norm.h"

namespace qkv {
namespace {

MultiTokenResult run(const Variable& q, const Variable& k, const Variable& v, const MultiTokenOptions& options,
                     bool with_weights) {
  const MultiTokenCall call = prepare(q, k, v, options);
  if (call.q.dtype() == DType::bf16) {
    const auto floats = [](const Variable& x) { return convert(x, DType::f32); };
    MultiTokenResult result = run(floats(q), floats(k), floats(v), options, with_weights);
    result.out = convert(result.out, DType::bf16);
    return result;
  }
  std::vector<Variable> inputs = inputs_of(q, k, v, options);
  MultiTokenForward forward = multi_token_forward(call, with_weights);
  const MultiTokenResult result = {forward.out, forward.weights};
  if (!recording(inputs)) return result;
  forward.out = {};
  forward.weights = {};
  return {record("multi_token_attention", std::move(inputs), result.out.value(),
                 [call, forward](const Tensor& grad, const std::vector<bool>&) {
                   const Tensor dout = grad.dim(3) <= 1 || grad.stride(3) == 1 ? grad : grad.clone();
                   MultiTokenGradients g = multi_token_backward(call, forward, dout);
                   std::vector<Tensor> grads = {g.dq, g.dk, g.dv};
                   grads.insert(grads.end(), g.parameters.begin(), g.parameters.end());
                   return grads;
                 }),
          result.weights};
}

}  // namespace

Variable multi_token_attention(const Variable& q, const Variable& k, const Variable& v,
                               const MultiTokenOptions& options) {
  return run(q, k, v, options, false).out;
}

MultiTokenResult multi_token_attention_with_weights(const Variable& q, const Variable& k, const Variable& v,
                                                    const MultiTokenOptions& options) {
  return run(q, k, v, options, true);
}

Variable normalize_heads(const Variable& out, const Variable& weight, float eps, float lambda) {
  const Variable normed = rms_norm(out, weight, eps);
  return lambda == 0.0f ? normed : scale(normed, 1.0f - lambda);
}

Variable gate_heads(const Variable& out, const Variable& weight, const Variable& bias) {
  const int64_t E = out.dim(-1);
  require(weight.value().rank() == 2 && weight.dim(1) == E && (weight.dim(0) == 1 || weight.dim(0) == E),
          "gate_heads", "weight must be (1,E) or (E,E) for out (B,H,T,E) {}, it is {}", out.shape(),
          weight.shape());
  const Variable gate = sigmoid(linear(out, weight, bias));
  if (weight.dim(0) == E) return multiply(out, gate);
  return multiply(out, linear(gate, Tensor::full({E, 1}, 1.0f)));  // the same gate for all numbers of a head
}

}  // namespace qkv
