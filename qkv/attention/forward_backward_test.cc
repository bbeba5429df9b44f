#include "qkv/attention/forward_backward.h"

#include <gtest/gtest.h>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/score/additive.h"
#include "qkv/attention/score/location.h"
#include "qkv/base/error.h"
#include "qkv/test_support/tensors.h"

namespace qkv::forward_backward_test {

using namespace test;

// The two calls give the results of the tape, in f32 bit for bit. Between the calls the output is rounded to bf16,
// on the tape only where a pass reads bf16.
void expect_equal(DType dtype, const Tensor& got, const Tensor& wanted) {
  if (dtype == DType::f32) {
    EXPECT_TRUE(same_bits(got, wanted));
  } else {
    EXPECT_LE(largest_difference(got, wanted), 0x1p-7);
  }
}

void expect_results_of_the_tape(DType dtype, const AttentionOptions& options,
                                std::vector<Variable> parameters = {}) {
  const Tensor q = random_tensor({2, 4, 9, 8}, 1).to(dtype), k = random_tensor({2, 2, 21, 8}, 2).to(dtype),
               v = random_tensor({2, 2, 21, 6}, 3).to(dtype), dout = random_tensor({2, 4, 9, 6}, 4).to(dtype);
  const AttentionForward forward = attention_forward(q, k, v, options);
  const AttentionGradients got = attention_backward(forward, q, k, v, dout, options);
  std::vector<Tensor> of_parameters;
  for (Variable& p : parameters) {
    of_parameters.push_back(p.grad().clone());
    p.zero_grad();
  }
  const Variable::Options with_gradient{.requires_grad = true};
  const Variable x(q, with_gradient), y(k, with_gradient), z(v, with_gradient);
  const Variable out = attention(x, y, z, options);
  out.backward(dout);
  EXPECT_TRUE(same_bits(forward.out, out.value()));
  expect_equal(dtype, got.dq, x.grad());
  expect_equal(dtype, got.dk, y.grad());
  expect_equal(dtype, got.dv, z.grad());
  for (size_t i = 0; i < parameters.size(); ++i)
    EXPECT_TRUE(same_bits(of_parameters[i], parameters[i].grad())) << i;
}

TEST(AttentionForward, EqualsTheTape) {
  for (const DType dtype : {DType::f32, DType::bf16}) expect_results_of_the_tape(dtype, {.mask = causal()});
}

TEST(AttentionForward, AddsGradientsToTheParametersOfAScore) {
  const Variable::Options with_gradient{.requires_grad = true};
  const Variable w_q(random_tensor({5, 8}, 5), with_gradient), w_k(random_tensor({5, 8}, 6), with_gradient),
      w_v(random_tensor({5}, 7), with_gradient);
  expect_results_of_the_tape(DType::f32, {.score = additive(w_q, w_k, w_v)}, {w_q, w_k, w_v});
}

TEST(AttentionForward, GivesZerosToKeysThatNoScoreReads) {
  const Variable w(random_tensor({21, 8}, 8), {.requires_grad = true});
  const AttentionOptions options = {.score = location(w)};
  const Tensor q = random_tensor({1, 1, 3, 8}, 1), k = random_tensor({1, 1, 21, 8}, 2),
               v = random_tensor({1, 1, 21, 6}, 3);
  const AttentionForward forward = attention_forward(q, k, v, options);
  const AttentionGradients g = attention_backward(forward, q, k, v, random_tensor({1, 1, 3, 6}, 4), options);
  EXPECT_TRUE(same_bits(g.dk, Tensor::zeros({1, 1, 21, 8})));
}

TEST(AttentionForward, RejectsAGradientOfAnotherShape) {
  const Tensor q = random_tensor({1, 1, 3, 8}, 1);
  const AttentionForward forward = attention_forward(q, q, q);
  EXPECT_THROW(attention_backward(forward, q, q, q, random_tensor({1, 1, 2, 8}, 2)), Error);
}

}  // namespace qkv::forward_backward_test
