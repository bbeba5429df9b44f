#include "qkv/attention/normalize/kernel_weights.h"

#include <cmath>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/score/distance.h"
#include "qkv/attention/score/dot.h"
#include "qkv/base/threads.h"
#include "qkv/op/arithmetic.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::kernel_weights_test {

using namespace test;

struct NamedKernel {
  NormalizerPtr normalizer;
  reference::NormalizerRecipe formula;
};
const NamedKernel kernels[] = {{boxcar(), reference::boxcar()},
                               {epanechnikov(), reference::epanechnikov()},
                               {triangular(), reference::triangular()},
                               {constant(), reference::constant()}};

// Of q, k, v, sigma.
ReferenceCall regression(const NamedKernel& kernel, const AttentionShape& n, const Doubles& x, bool is_causal) {
  ReferenceCall call = reference_call(n, x);
  call.score = reference::gaussian({{1}, x[3]});
  call.normalize = kernel.formula;
  if (is_causal) call.visible = causal_rule(n);
  return call;
}

std::vector<Tensor> inputs(const AttentionShape& n, float sigma) {
  return {random_tensor({n.B, n.H, n.T, n.D}, 1), random_tensor({n.B, n.G, n.S, n.D}, 2),
          random_tensor({n.B, n.G, n.S, n.E}, 3), Tensor::full({1}, sigma)};
}

// At these sigmas no distance is near the edge of a kernel.
TEST(KernelWeights, EqualTheirFormulasInEveryInputAndTheWidth) {
  for (const NamedKernel& kernel : kernels)
    for (const auto& [n, sigma] : {std::pair<AttentionShape, float>{{1, 1, 1, 1, 1, 2, 1}, 5.0f},
                                   {{2, 2, 1, 3, 5, 2, 2}, 1.3f},
                                   {{1, 2, 2, 7, 6, 3, 3}, 2.0f}})
      for (const bool is_causal : {false, true})
        check_op(
            kernel.normalizer->name(), inputs(n, sigma),
            [&](const Variables& x) {
              const Variable width = scale(x[3], 1.0f);  // its two gradients arrive at x[3] as one sum
              return attention(x[0], x[1], x[2],
                               {.score = gaussian(width),
                                .mask = is_causal ? causal() : MaskPtr(),
                                .normalize = kernel.normalizer});
            },
            [&, n = n](const Doubles& x) {
              return reference_attention(regression(kernel, n, x, is_causal)).out.values;
            },
            {.value = 3e-6, .gradient = 2e-5, .strided = false});
}

TEST(KernelWeights, AddUpOverAllTiles) {
  const AttentionShape n{1, 2, 1, 70, 300, 2, 3};
  const std::vector<Tensor> x = inputs(n, 0.9f);
  Doubles exact;
  for (const Tensor& part : x) exact.push_back(doubles(part));
  for (const NamedKernel& kernel : kernels) {
    const ReferenceResult wanted = reference_attention(regression(kernel, n, exact, true));
    const auto got = attention_with_weights(
        x[0], x[1], x[2], {.score = gaussian(0.9f), .mask = causal(), .normalize = kernel.normalizer});
    expect_reference(got.out, wanted.out, 3e-6, kernel.normalizer->name());
    expect_reference(got.weights, wanted.weights, 3e-6, kernel.normalizer->name());
    expect_reference(got.lse, wanted.lse, 3e-6, kernel.normalizer->name());
  }
}

// Query 0 is far from every key, batch row 1 is fully masked.
TEST(KernelWeights, AreZeroWithoutGradientWhereTheTotalIsZero) {
  Tensor far = random_tensor({2, 1, 5, 3}, 1);
  for (int64_t d = 0; d < 3; ++d) far.data<float>()[d] = 1000.0f;
  for (const NamedKernel& kernel : kernels) {
    const Variable::Options learned{.requires_grad = true};
    const Variable q(far, learned), k(random_tensor({2, 1, 9, 3}, 2), learned),
        v(random_tensor({2, 1, 9, 4}, 3), learned), sigma(Tensor::full({1}, 2.0f), learned);
    const bool everywhere = kernel.normalizer->name() == constant()->name();  // at any distance
    const auto [out, weights, lse] = attention_with_weights(
        q, k, v, {.score = gaussian(sigma), .mask = padding({9, 0}), .normalize = kernel.normalizer});
    out.backward(random_tensor({2, 1, 5, 4}, 4));
    const auto expect_zeros = [&](const Tensor& x) {
      for (const double value : doubles(x)) ASSERT_EQ(value, 0.0) << kernel.normalizer->name();
    };
    for (const Tensor& x : {out.value(), weights, q.grad(), k.grad(), v.grad()}) expect_zeros(x.slice(0, 1, 2));
    for (const double x : doubles(lse.slice(0, 1, 2))) ASSERT_EQ(x, -INFINITY);
    ASSERT_TRUE(std::isfinite(sigma.grad().at<float>({0})));
    if (everywhere) continue;
    for (const Tensor& x : {out.value(), weights, q.grad()}) expect_zeros(x.slice(0, 0, 1).slice(2, 0, 1));
    EXPECT_EQ(lse.at<float>({0, 0, 0}), -INFINITY);
  }
}

TEST(KernelWeights, HaveAFiniteGradientAtDistanceZero) {  // the triangular kernel has a corner at u = 0
  const Tensor points = random_tensor({1, 1, 4, 3}, 1);
  for (const NamedKernel& kernel : kernels) {
    const Variable q(points, {.requires_grad = true});
    attention(q, Variable(points), Variable(points), {.score = gaussian(2), .normalize = kernel.normalizer})
        .backward(points);
    for (const double x : doubles(q.grad())) EXPECT_TRUE(std::isfinite(x)) << kernel.normalizer->name();
  }
}

TEST(KernelWeights, GiveTheSameBitsOnAnyNumberOfThreadsAndWithoutNeighbours) {
  const int before = threads();
  const std::vector<Tensor> x = inputs({2, 2, 1, 100, 700, 3, 4}, 1);
  for (const NamedKernel& kernel : kernels) {
    const auto results = [&](int64_t first) {
      std::vector<Variable> leaves;
      for (int n = 0; n < 3; ++n) leaves.emplace_back(x[n].slice(0, first, 2), Variable::Options{true});
      const Variable y =
          attention(leaves[0], leaves[1], leaves[2], {.score = gaussian(0.8f), .normalize = kernel.normalizer});
      y.backward(random_tensor({2, 2, 100, 4}, 9).slice(0, first, 2));
      std::vector<Tensor> all = {y.value()};
      for (const Variable& leaf : leaves) all.push_back(leaf.grad());
      return all;
    };
    set_threads(1);
    const std::vector<Tensor> wanted = results(0);
    for (const int count : {2, 3}) {
      set_threads(count);
      const std::vector<Tensor> all = results(0), last = results(1);
      for (size_t n = 0; n < all.size(); ++n) {
        EXPECT_TRUE(same_bits(all[n], wanted[n])) << kernel.normalizer->name() << ' ' << count << " threads";
        EXPECT_TRUE(same_bits(last[n], wanted[n].slice(0, 1, 2))) << kernel.normalizer->name() << " alone";
      }
    }
  }
  set_threads(before);
}

// With any score, also in the bf16 and single-query algorithms.
TEST(KernelWeights, WorkInEveryPass) {
  const Tensor k = random_tensor({1, 2, 900, 8}, 2), v = random_tensor({1, 2, 900, 6}, 3);
  for (const int64_t T : {1, 70}) {
    const Tensor q = random_tensor({1, 4, T, 8}, 1);
    for (const NamedKernel& kernel : kernels) {
      const AttentionOptions options = {.score = dot(-0.05f), .normalize = kernel.normalizer};
      const auto in = [](const Tensor& x, DType dtype) {
        return Variable(x.to(DType::bf16).to(dtype), {.requires_grad = true});
      };
      const Variable recorded = attention(in(q, DType::f32), in(k, DType::f32), in(v, DType::f32),
                                          options);  // not in the single-query algorithm
      const auto of = [&](DType dtype) {
        return attention(in(q, dtype).value(), in(k, dtype).value(), in(v, dtype).value(), options).to(DType::f32);
      };
      expect_close(of(DType::f32), doubles(recorded.value()), 2e-6, kernel.normalizer->name());
      expect_close(of(DType::bf16), doubles(recorded.value()), std::ldexp(1.0, -7), kernel.normalizer->name());
    }
  }
}

}  // namespace qkv::kernel_weights_test
