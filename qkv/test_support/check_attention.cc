#include "qkv/test_support/check_attention.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace qkv::test {

ReferenceCall AttentionInputs::reference() const { return {.q = q, .k = k, .v = v, .dout = dout}; }

AttentionInputs random_inputs(const AttentionShape& n, uint64_t stream, DType dtype) {
  const auto draw = [&](const Shape& shape) { return random_tensor(shape, stream++).to(dtype); };
  const auto leaf = [&](const Shape& shape) { return Variable(draw(shape), {.requires_grad = true}); };
  AttentionInputs x;
  x.q = leaf({n.B, n.H, n.T, n.D});
  x.k = leaf({n.B, n.G, n.S, n.D});
  x.v = leaf({n.B, n.G, n.S, n.E});
  x.dout = draw({n.B, n.H, n.T, n.E});
  return x;
}

ReferenceCall reference_call(const AttentionShape& n, const Doubles& x) {
  const int64_t key_width = static_cast<int64_t>(x[1].size()) / (n.B * n.G * n.S);
  return {.q = {{n.B, n.H, n.T, n.D}, x[0]},
          .k = {{n.B, n.G, n.S, key_width}, x[1]},
          .v = {{n.B, n.G, n.S, n.E}, x[2]}};
}

void expect_reference(const Tensor& got, const ReferenceTensor& wanted, double tolerance, const std::string& what) {
  ASSERT_TRUE(got.defined()) << what;
  double largest = 1e-3;
  for (const double w : wanted.values)
    if (std::isfinite(w)) largest = std::max(largest, std::abs(w));
  EXPECT_LE(largest_difference(doubles(got), wanted.values), tolerance * largest) << what;
}

void expect_attention(const AttentionInputs& x, const AttentionOptions& options, const ReferenceCall& wanted,
                      const AttentionCheck& check) {
  const auto [out, weights, lse] = attention_with_weights(x.q, x.k, x.v, options);
  out.backward(x.dout);
  const ReferenceResult r = reference_attention(wanted);
  expect_reference(out.value(), r.out, check.value, "out");
  expect_reference(weights, r.weights, check.value, "weights");
  expect_reference(lse, r.lse, check.value, "lse");
  expect_reference(x.q.grad(), r.dq, check.gradient, "dq");
  expect_reference(x.k.grad(), r.dk, check.gradient, "dk");
  expect_reference(x.v.grad(), r.dv, check.gradient, "dv");
  if (check.parameters.empty()) return;
  ASSERT_EQ(check.parameters.size(), r.parameters.size());
  for (size_t i = 0; i < r.parameters.size(); ++i)
    expect_close(check.parameters[i].grad(), r.parameters[i].values, check.parameter_gradient,
                 fmt::format("gradient of parameter {}", i));
}

}  // namespace qkv::test
