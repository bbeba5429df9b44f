#include "qkv/attention/reweigh/gaussian_window.h"

#include <cmath>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/attention/reweigh/dropout.h"
#include "qkv/base/threads.h"
#include "qkv/test_support/check_attention.h"

namespace qkv::gaussian_window_test {

using namespace test;

Tensor positions(const AttentionShape& n, uint64_t stream) {
  Tensor p = random_tensor({n.B, n.H, n.T}, stream, static_cast<double>(n.S) / 4);
  for (float& x : p.span<float>()) x += static_cast<float>(n.S) / 2;
  return p;
}

// Of q, k, v, p: scaled dot product, causal.
ReferenceCall windowed(const AttentionShape& n, const Doubles& x, double sigma) {
  ReferenceCall call = reference_call(n, x);
  call.visible = causal_rule(n);
  call.reweigh = {reference::gaussian_window({{n.B, n.H, n.T}, x[3]}, sigma)};
  return call;
}

std::vector<Tensor> inputs(const AttentionShape& n) {
  return {random_tensor({n.B, n.H, n.T, n.D}, 1), random_tensor({n.B, n.G, n.S, n.D}, 2),
          random_tensor({n.B, n.G, n.S, n.E}, 3), positions(n, 4)};
}

const AttentionShape shapes[] = {{.B = 2, .H = 2, .G = 1, .T = 3, .S = 5, .D = 3, .E = 2},
                                 {.B = 1, .H = 1, .G = 1, .T = 7, .S = 4, .D = 2, .E = 3},
                                 {.B = 1, .H = 2, .G = 2, .T = 5, .S = 300, .D = 2, .E = 2}};

TEST(GaussianWindow, EqualsItsFormulaInEveryInputAndPosition) {
  for (const AttentionShape& n : shapes) {
    const double sigma = static_cast<double>(n.S) / 5;
    check_op(
        "gaussian_window", inputs(n),
        [&](const Variables& x) {
          return attention(x[0], x[1], x[2], {.mask = causal(), .reweigh = {gaussian_window(x[3], sigma)}});
        },
        [&](const Doubles& x) { return reference_attention(windowed(n, x, sigma)).out.values; },
        {.value = 3e-6, .gradient = 2e-5, .strided = false});
  }
}

TEST(GaussianWindow, CombinesWithOtherFactors) {
  const AttentionShape n = shapes[0];
  const ReweigherPtr dropout = weight_dropout({.rate = 0.4, .seed = 3});
  for (const bool before : {false, true})
    check_op(
        "two factors", inputs(n),
        [&](const Variables& x) {
          const ReweigherPtr window = gaussian_window(x[3], 2.0);
          return attention(
              x[0], x[1], x[2],
              {.mask = causal(), .reweigh = before ? std::vector{dropout, window} : std::vector{window, dropout}});
        },
        [&](const Doubles& x) {
          ReferenceCall call = windowed(n, x, 2.0);
          call.reweigh.push_back(reference::factors(reference::factors_of(*dropout, n)));
          return reference_attention(call).out.values;
        },
        {.value = 3e-6, .gradient = 2e-5, .strided = false});
}

// Also with keys cut into several spans.
TEST(GaussianWindow, GivesTheSameBitsOnAnyNumberOfThreadsAndWithoutNeighbours) {
  const AttentionShape n{.B = 3, .H = 2, .G = 1, .T = 70, .S = 4800, .D = 3, .E = 2};
  const std::vector<Tensor> x = inputs(n);
  const Tensor upstream = random_tensor({n.B, n.H, n.T, n.E}, 5);
  const auto results = [&](int64_t first, int64_t rows) {
    std::vector<Variable> leaves;
    for (const Tensor& part : x)
      leaves.emplace_back(part.slice(0, first, first + rows), Variable::Options{.requires_grad = true});
    const Variable y = attention(leaves[0], leaves[1], leaves[2], {.reweigh = {gaussian_window(leaves[3], 700.0)}});
    y.backward(upstream.slice(0, first, first + rows));
    std::vector<Tensor> all = {y.value()};
    for (const Variable& leaf : leaves) all.push_back(leaf.grad());
    return all;
  };
  const int before = threads();
  set_threads(1);
  const std::vector<Tensor> wanted = results(0, n.B);
  for (const int count : {2, 3}) {
    set_threads(count);
    const std::vector<Tensor> all = results(0, n.B), last = results(2, 1);
    for (size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(same_bits(all[i], wanted[i])) << i << ' ' << count << " threads";
      EXPECT_TRUE(same_bits(last[i], wanted[i].slice(0, 2, 3))) << i << " alone";
    }
  }
  set_threads(before);
}

TEST(GaussianWindow, GivesZerosToAQueryThatSeesNoKeyOrIsFarFromAll) {
  const AttentionShape n = shapes[0];
  std::vector<Tensor> x = inputs(n);
  x[3].fill(1e6f);
  for (const MaskPtr& mask : {padding({5, 0}), padding({0, 5})}) {
    const Variable q(x[0], {.requires_grad = true}), p(x[3], {.requires_grad = true});
    const auto result = attention_with_weights(q, x[1], x[2], {.mask = mask, .reweigh = {gaussian_window(p, 1.0)}});
    result.out.backward(random_tensor(result.out.shape(), 9));
    for (const Tensor& all : {result.out.value(), result.weights, q.grad(), p.grad()})
      for (const double value : doubles(all)) ASSERT_EQ(value, 0.0);
  }
}

TEST(GaussianWindow, WorksInEveryPass) {
  const AttentionShape n{.B = 1, .H = 4, .G = 2, .T = 70, .S = 900, .D = 8, .E = 6};
  const std::vector<Tensor> x = inputs(n);
  for (const int64_t T : {int64_t{1}, n.T}) {
    const auto of = [&](DType dtype, bool recorded) {
      const auto in = [&](const Tensor& y) {
        return Variable(y.to(DType::bf16).to(dtype), {.requires_grad = recorded});
      };
      const ReweigherPtr window = gaussian_window(x[3].slice(2, 0, T), 200.0);
      return attention(in(x[0].slice(2, 0, T)), in(x[1]), in(x[2]), {.reweigh = {window}}).value().to(DType::f32);
    };
    const std::vector<double> wanted = doubles(of(DType::f32, true));
    expect_close(of(DType::f32, false), wanted, 2e-6, "without a tape");
    expect_close(of(DType::bf16, false), wanted, std::ldexp(1.0, -7), "bf16 without a tape");
    expect_close(of(DType::bf16, true), wanted, std::ldexp(1.0, -7), "bf16");
  }
}

TEST(GaussianWindow, RejectsInvalidArguments) {
  const Tensor q = Tensor::zeros({2, 2, 3, 4});
  EXPECT_EQ(error_of([&] {
              attention(q, q, q, {.reweigh = {gaussian_window(Tensor::zeros({2, 1, 3}), 1)}});
            }),
            "gaussian_window: p is (B 2, H 1, T 3) for B 2, H 2 and T 3");
  EXPECT_EQ(error_of([] { gaussian_window(Tensor::zeros({2}), 1); }),
            "gaussian_window: p must be f32 of shape (B, H, T), got (2)");
  EXPECT_EQ(error_of([] {
              gaussian_window(Tensor::zeros({1, 1, 1}), 0);
            }),
            "gaussian_window: sigma must be positive and finite, got 0");
}

}  // namespace qkv::gaussian_window_test
