#include "test/attention_random_test/check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "qkv/attention/attention.h"
namespace qkv::test {
namespace {

struct Named {
  std::string name;
  ReferenceTensor tensor;
};

// The names of the results().
std::vector<Named> expected(const Drawn& call, Precision precision) {
  const ReferenceResult r = reference_attention(call.reference(), precision);
  std::vector<Named> all = {{"out", r.out}, {"weights", r.weights}, {"lse", r.lse},
                            {"dq", r.dq},   {"dk", r.dk},           {"dv", r.dv}};
  const std::vector<Variable> parameters = call.parameters();
  for (size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].requires_grad())
      all.push_back({fmt::format("gradient of parameter {}", i), r.parameters.at(i)});
  return all;
}

double largest(const std::vector<double>& values) {
  double maximum = 0;
  for (const double value : values)
    if (std::isfinite(value)) maximum = std::max(maximum, std::abs(value));
  return maximum;
}

Tensor gradient_of(const Variable& x) {  // zero where none arrived
  return x.grad().defined() ? as_float(x.grad()) : Tensor::zeros(x.shape());
}

}  // namespace

std::vector<Tensor> results(const Drawn& call, const Inputs& inputs, const BatchRows& rows) {
  const Variable::Options with_gradient{.requires_grad = true};
  const Variable q(inputs.q, with_gradient), k(inputs.k, with_gradient), v(inputs.v, with_gradient);
  for (Variable parameter : call.parameters()) parameter.zero_grad();
  const auto [out, weights, lse] = attention_with_weights(q, k, v, call.options(q, rows));
  out.backward(inputs.dout);
  std::vector<Tensor> all = {as_float(out.value()), as_float(weights), as_float(lse)};
  for (const Variable& x : {q, k, v}) all.push_back(gradient_of(x));
  for (const Variable& parameter : call.parameters())
    if (parameter.requires_grad()) all.push_back(gradient_of(parameter));
  return all;
}

std::vector<Tensor> results(const Drawn& call) {
  return results(call, {call.q, call.k, call.v, call.dout}, {0, call.n.B});
}

std::vector<Tensor> outputs(const Drawn& call, const Inputs& inputs, const BatchRows& rows) {
  const auto [out, weights, lse] =
      attention_with_weights(inputs.q, inputs.k, inputs.v, call.options(Variable(inputs.q), rows));
  return {as_float(out), as_float(weights), as_float(lse)};
}

std::vector<Tensor> outputs(const Drawn& call) {
  return outputs(call, {call.q, call.k, call.v, call.dout}, {0, call.n.B});
}

std::string excess_error(const Drawn& call, const std::vector<Tensor>& got) {
  using Limits = std::numeric_limits<float>;
  // An exponential below the smallest normal number is zero, where the plain computation has a subnormal one: what is
  // near 1 and multiplies it makes this of the difference.
  constexpr double epsilon = Limits::epsilon(), underflow = Limits::min() / epsilon;
  const bool is_float = call.q.dtype() == DType::f32;
  const std::vector<Named> exact =
      expected(call, is_float ? Precision::float64_and_float32_error : Precision::float64_and_bfloat16_error);
  const std::vector<Named> plain = expected(call, is_float ? Precision::float32 : Precision::bfloat16);
  if (got.size() != exact.size()) return fmt::format("{} results, expected {}", got.size(), exact.size());
  for (size_t n = 0; n < exact.size(); ++n) {
    const std::vector<double>& wanted = exact[n].tensor.values;
    const double ours = largest_difference(doubles(got[n]), wanted),
                 theirs = largest_difference(plain[n].tensor.values, wanted), deviation = exact[n].tensor.error;
    // Few values give a chance estimate of the error; one rounding of the largest is always allowed.
    const double rounding = is_float ? epsilon * largest(wanted) : 0;
    if (!(ours <= 2 * theirs + 2 * deviation + rounding + underflow))
      return fmt::format("{} has the error {}, the plain computation {}, of rounding {} is expected", exact[n].name,
                         ours, theirs, deviation);
  }
  return "";
}

std::string nonzero_empty_row(const Drawn& call, const std::vector<Tensor>& got) {
  const float *out = got[0].data<float>(), *weights = got[1].data<float>(), *lse = got[2].data<float>(),
              *dq = got[3].data<float>();
  const auto all_zero = [](const float* x, int64_t n) {
    return std::all_of(x, x + n, [](float y) { return y == 0; });
  };
  const VisibleRule visible = call.reference().visible;
  const AttentionShape& n = call.n;
  for (int64_t row = 0; row < n.B * n.H * n.T; ++row) {
    bool is_empty = static_cast<bool>(visible);
    for (int64_t j = 0; j < n.S && is_empty; ++j)
      is_empty = !visible(row / (n.H * n.T), row / n.T % n.H, row % n.T, j);
    if (is_empty && (!all_zero(out + row * n.E, n.E) || !all_zero(weights + row * n.S, n.S) ||
                     !all_zero(dq + row * n.D, n.D) || lse[row] != -INFINITY))
      return fmt::format("row {} sees no key", row);
  }
  return "";
}

}  // namespace qkv::test
