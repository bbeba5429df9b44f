#include "qkv/attention/forward_backward.h"

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/location.h"
#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv {
namespace {

Tensor numbers(const Shape& shape, uint64_t stream, DType dtype = DType::f32) {
  Random random(17, stream);
  Tensor x = Tensor::empty(shape);
  for (float& v : x.span<float>()) v = static_cast<float>(random.normal());
  return x.to(dtype);
}

std::vector<float> values(const Tensor& x) {
  const Tensor packed = (x.dtype() == DType::f32 ? x : x.to(DType::f32)).contiguous_copy();
  return {packed.span<float>().begin(), packed.span<float>().end()};
}

// The two calls give the results of the tape, in f32 bit for bit. Between the calls the output is rounded to bf16,
// on the tape only where a pass reads bf16.
void expect_equal(DType dtype, const Tensor& got, const Tensor& wanted) {
  const std::vector<float> a = values(got), b = values(wanted);
  if (dtype == DType::f32) {
    EXPECT_EQ(a, b);
    return;
  }
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 0x1p-7);
}

void expect_results_of_the_tape(DType dtype, const AttentionOptions& options,
                                std::vector<Variable> parameters = {}) {
  const Tensor q = numbers({2, 4, 9, 8}, 1, dtype), k = numbers({2, 2, 21, 8}, 2, dtype),
               v = numbers({2, 2, 21, 6}, 3, dtype), dout = numbers({2, 4, 9, 6}, 4, dtype);
  const AttentionForward forward = attention_forward(q, k, v, options);
  const AttentionGradients got = attention_backward(forward, q, k, v, dout, options);
  std::vector<std::vector<float>> of_parameters;
  for (Variable& p : parameters) {
    of_parameters.push_back(values(p.grad()));
    p.zero_grad();
  }
  const Variable::Options with_gradient{.requires_grad = true};
  const Variable x(q, with_gradient), y(k, with_gradient), z(v, with_gradient);
  const Variable out = attention(x, y, z, options);
  out.backward(dout);
  EXPECT_EQ(values(forward.out), values(out.value()));
  expect_equal(dtype, got.dq, x.grad());
  expect_equal(dtype, got.dk, y.grad());
  expect_equal(dtype, got.dv, z.grad());
  for (size_t i = 0; i < parameters.size(); ++i) EXPECT_EQ(of_parameters[i], values(parameters[i].grad()));
}

TEST(AttentionForward, EqualsTheTape) {
  for (const DType dtype : {DType::f32, DType::bf16}) expect_results_of_the_tape(dtype, {.mask = causal()});
}

TEST(AttentionForward, AddsGradientsToTheParametersOfAScore) {
  const Variable::Options with_gradient{.requires_grad = true};
  const Variable w_q(numbers({5, 8}, 5), with_gradient), w_k(numbers({5, 8}, 6), with_gradient),
      w_v(numbers({5}, 7), with_gradient);
  expect_results_of_the_tape(DType::f32, {.score = additive(w_q, w_k, w_v)}, {w_q, w_k, w_v});
}

TEST(AttentionForward, GivesZerosToKeysThatNoScoreReads) {
  const Variable w(numbers({21, 8}, 8), {.requires_grad = true});
  const AttentionOptions options = {.score = location(w)};
  const Tensor q = numbers({1, 1, 3, 8}, 1), k = numbers({1, 1, 21, 8}, 2), v = numbers({1, 1, 21, 6}, 3);
  const AttentionForward forward = attention_forward(q, k, v, options);
  const AttentionGradients g = attention_backward(forward, q, k, v, numbers({1, 1, 3, 6}, 4), options);
  EXPECT_EQ(values(g.dk), std::vector<float>(21 * 8, 0.0f));
}

TEST(AttentionForward, RejectsAGradientOfAnotherShape) {
  const Tensor q = numbers({1, 1, 3, 8}, 1);
  const AttentionForward forward = attention_forward(q, q, q);
  EXPECT_THROW(attention_backward(forward, q, q, q, numbers({1, 1, 2, 8}, 2)), Error);
}

}  // namespace
}  // namespace qkv
