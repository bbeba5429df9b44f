#include "qkv/attention/multi_token.h"

#include "qkv/attention/multi_token/passes.h"
#include "qkv/autograd/profile.h"
#include "qkv/base/error.h"
#include "qkv/op/activation.h"
#include "qkv/op/arithmetic.h"
#include "qkv/op/convert.h"
#include "qkv/op/linear.h"
#include "qkv/op/norm.h"

namespace qkv {
namespace {

using namespace internal;

MultiTokenResult run(const Variable& q, const Variable& k, const Variable& v, const MultiTokenOptions& options,
                     bool with_weights) {
  const MultiTokenCall call = prepare(q, k, v, options);
  if (call.q.dtype() == DType::bf16) {
    const auto floats = [](const Variable& x) { return convert(x, DType::f32); };
    MultiTokenResult result = run(floats(q), floats(k), floats(v), options, with_weights);
    result.out = convert(result.out, DType::bf16);
    return result;
  }
  const OpScope scope("multi_token_attention");
  std::vector<Variable> inputs = inputs_of(q, k, v, options);
  MultiTokenForward forward = multi_token_forward(call, with_weights);
  MultiTokenResult result = {forward.out, forward.weights};
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

int64_t history_of(const MultiTokenOptions& options) {
  const auto earlier_queries = [](const Variable& taps) {
    return taps.defined() && taps.value().rank() == 4 ? taps.dim(2) - 1 : 0;
  };
  return earlier_queries(options.pre_conv) + earlier_queries(options.post_conv);
}

namespace {

void check_heads(std::string_view op, const Variable& out) {
  const Tensor& x = out.value();
  require(x.rank() == 4 && (x.dtype() == DType::f32 || x.dtype() == DType::bf16), op,
          "out must be (B,H,T,E), f32 or bf16; it is {} {}", name_of(x.dtype()), x.shape());
}

bool is_f32(const Variable& x, const Shape& shape) {
  return x.defined() && x.value().dtype() == DType::f32 && x.shape() == shape;
}

std::string describe_typed(const Variable& x) {
  return x.defined() ? fmt::format("{} {}", name_of(x.value().dtype()), x.shape()) : "missing";
}

}  // namespace

Variable normalize_heads(const Variable& out, const Variable& weight, float eps, float lambda) {
  check_heads("normalize_heads", out);
  const int64_t E = out.dim(3);
  require(is_f32(weight, {E}), "normalize_heads", "weight must be f32 (E) with E {}, it is {}", E,
          describe_typed(weight));
  const Variable normed = rms_norm(convert(out, DType::f32), weight, eps);
  return convert(lambda == 0.0f ? normed : scale(normed, 1.0f - lambda), out.value().dtype());
}

Variable gate_heads(const Variable& out, const Variable& weight, const Variable& bias) {
  check_heads("gate_heads", out);
  const int64_t E = out.dim(3);
  require(is_f32(weight, {1, E}) || is_f32(weight, {E, E}), "gate_heads",
          "weight must be f32 (1,E) or (E,E) with E {}, it is {}", E, describe_typed(weight));
  require(!bias.defined() || is_f32(bias, {weight.dim(0)}), "gate_heads", "bias must be f32 ({}), it is {}",
          weight.dim(0), describe_typed(bias));
  const Variable x = convert(out, DType::f32);
  Variable gate = sigmoid(linear(x, weight, bias));
  if (weight.dim(0) != E) gate = linear(gate, Tensor::full({E, 1}, 1.0f));  // one gate for the E elements of a head
  return convert(multiply(x, gate), out.value().dtype());
}

}  // namespace qkv
