#include "test/attention_random_test/check.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "test/attention_random_test/plain.h"

namespace qkv::test {
namespace {

// The largest difference; infinite where one number is infinite or none at all and the other is not.
double error(const std::vector<double>& got, const std::vector<double>& wanted) {
  double most = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (got[i] == wanted[i]) continue;
    const double e = std::abs(got[i] - wanted[i]);
    most = std::max(most, std::isfinite(e) ? e : INFINITY);
  }
  return most;
}

}  // namespace

Tensor as_float(const Tensor& x) { return (x.dtype() == DType::f32 ? x : x.to(DType::f32)).contiguous_copy(); }

std::vector<Tensor> results(const Drawn& call, const Inputs& inputs, const AttentionOptions& options) {
  const Variable::Options learnt{.requires_grad = true};
  const Variable x(inputs.q, learnt), y(inputs.k, learnt), z(inputs.v, learnt);
  for (Variable parameter : call.learnt_parameters()) parameter.zero_grad();
  const auto [out, weights, lse] = attention_with_weights(x, y, z, options);
  out.backward(inputs.dout);
  std::vector<Tensor> all = {out.value(), weights, lse, x.grad(), y.grad(), z.grad()};
  for (const Variable& parameter : call.learnt_parameters())
    if (parameter.grad().defined()) all.push_back(parameter.grad());
  for (Tensor& result : all) result = as_float(result);
  return all;
}

std::vector<Tensor> results(const Drawn& call) {
  return results(call, {call.q, call.k, call.v, call.dout}, call.options());
}

std::vector<Tensor> outputs(const Inputs& inputs, const AttentionOptions& options) {
  const auto [out, weights, lse] = attention_with_weights(inputs.q, inputs.k, inputs.v, options);
  return {as_float(out), as_float(weights), as_float(lse)};
}

std::vector<Tensor> outputs(const Drawn& call) {
  return outputs({call.q, call.k, call.v, call.dout}, call.options());
}

std::string unfair_error(const Drawn& call, const std::vector<Tensor>& got) {
  const bool single = call.q.dtype() == DType::f32;
  const std::vector<Numbers> exact = plain_attention(call, Precision::exact);
  const std::vector<Numbers> plain = plain_attention(call, single ? Precision::single : Precision::bf16);
  const double ulp = single ? std::ldexp(1.0, -23) : std::ldexp(1.0, -8);
  if (got.size() != exact.size()) return fmt::format("{} results, expected {}", got.size(), exact.size());
  for (size_t n = 0; n < exact.size(); ++n) {
    const auto values = got[n].span<float>();
    if (values.size() != exact[n].values.size())
      return fmt::format("{}: {} numbers, expected {}", exact[n].name, values.size(), exact[n].values.size());
    const double fair = error(plain[n].values, exact[n].values), floor = 2 * ulp * exact[n].size;
    const double ours = error({values.begin(), values.end()}, exact[n].values);
    if (!(ours <= 2 * fair + floor))
      return fmt::format("{} errs by {}, the plain computation by {}, the unit of rounding is {}", exact[n].name,
                         ours, fair, ulp * exact[n].size);
  }
  return "";
}

std::string nonzero_empty_row(const Drawn& call, const std::vector<Tensor>& got) {
  const float *out = got[0].data<float>(), *weights = got[1].data<float>(), *lse = got[2].data<float>(),
              *dq = got[3].data<float>();
  const auto all_zero = [](const float* x, int64_t n) {
    return std::all_of(x, x + n, [](float y) { return y == 0; });
  };
  for (int64_t row = 0; row < call.n.B * call.n.H * call.n.T; ++row) {
    const char* visible = call.visible.data() + row * call.n.S;
    if (std::count(visible, visible + call.n.S, 0) < call.n.S) continue;
    if (!all_zero(out + row * call.n.E, call.n.E) || !all_zero(weights + row * call.n.S, call.n.S) ||
        !all_zero(dq + row * call.n.D, call.n.D) || lse[row] != -INFINITY)
      return fmt::format("row {} sees no key", row);
  }
  return "";
}

}  // namespace qkv::test
