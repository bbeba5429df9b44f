#include "qkv/attention/modify/score_mod.h"

#include <cmath>

#include "qkv/attention/attention.h"
#include "qkv/attention/mask/causal.h"
#include "qkv/attention/modify/alibi.h"
#include "qkv/attention/modify/softcap.h"
#include "qkv/base/error.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::score_mod_test {

using namespace test;

struct Results {
  Tensor out;
  std::vector<Tensor> grads;  // of q, k, v
};

Results run(const ModifierPtr& modifier, DType dtype = DType::f32) {
  const auto leaf = [&](const Shape& shape, uint64_t stream) {
    return Variable(random_tensor(shape, stream, 2.0).to(dtype), {.requires_grad = true});
  };
  const Variable q = leaf({2, 4, 70, 8}, 1), k = leaf({2, 2, 150, 8}, 2), v = leaf({2, 2, 150, 6}, 3);
  const Variable out = attention(q, k, v, {.modify = {modifier}, .mask = causal()});
  out.backward(random_tensor({2, 4, 70, 6}, 4).to(dtype));
  const auto floats = [](const Tensor& x) { return x.to(DType::f32); };
  return {floats(out.value()), {floats(q.grad()), floats(k.grad()), floats(v.grad())}};
}

void expect_same_results(const Results& got, const Results& wanted, double tolerance) {
  expect_close(got.out, doubles(wanted.out), tolerance, "out");
  for (size_t n = 0; n < 3; ++n) expect_close(got.grads[n], doubles(wanted.grads[n]), tolerance, std::to_string(n));
}

TEST(ScoreMod, AFunctionOfAutoHasTheGradientOfItsFormula) {
  const ModifierPtr mod = score_mod([](auto s, int64_t, int64_t, int64_t, int64_t) {
    using std::tanh;
    return 2 * tanh(s / 2);
  });
  expect_same_results(run(mod), run(softcap(2)), 3e-6);
  expect_same_results(run(mod, DType::bf16), run(softcap(2), DType::bf16), 2e-2);
}

TEST(ScoreMod, GetsThePositionOfEveryScore) {
  const Tensor slopes = Tensor::from({0.5f, 0.25f, 0.125f, 0.0625f}, {4});
  const ModifierPtr mod = score_mod([](auto s, int64_t b, int64_t h, int64_t i, int64_t j) {
    const int64_t position = i + 150 - 70;
    return s - std::ldexp(1.0f, static_cast<int>(-h - 1)) * static_cast<float>(std::abs(position - j)) +
           0.0f * static_cast<float>(b);
  });
  expect_same_results(run(mod), run(alibi(slopes)), 3e-6);
}

TEST(ScoreMod, AFunctionOfFloatHasTheGivenDerivative) {
  const auto f = [](float s, int64_t, int64_t, int64_t, int64_t) { return 2 * std::tanh(s / 2); };
  const auto g = [](float s, int64_t, int64_t, int64_t, int64_t) { return 1 - std::pow(std::tanh(s / 2), 2.0f); };
  expect_same_results(run(score_mod(f, {.derivative = g})), run(softcap(2)), 3e-6);
}

TEST(ScoreMod, WithoutADerivativeHasNoBackward) {
  const ModifierPtr mod =
      score_mod([](float s, int64_t, int64_t, int64_t, int64_t) { return s; }, {.name = "mine"});
  try {
    run(mod);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("score_mod: mine has no derivative"), std::string::npos) << e.what();
  }
}

TEST(ScoreMod, MasksAKeyByMinusInfinity) {
  const ModifierPtr mod = score_mod(
      [](auto s, int64_t, int64_t, int64_t, int64_t j) { return j % 2 == 0 ? s : decltype(s)(-INFINITY); });
  const Results got = run(mod);
  for (int64_t j = 1; j < 150; j += 2)
    for (int64_t d = 0; d < 8; ++d) EXPECT_EQ(got.grads[1].at<float>({0, 0, j, d}), 0.0f);
  for (const Tensor& grad : got.grads)
    for (const double x : doubles(grad)) EXPECT_TRUE(std::isfinite(x));
}

TEST(Dual, HasTheDerivativesOfItsFunctions) {
  const auto f = [](auto x) {
    using std::exp, std::log, std::sqrt, std::tanh, std::abs;
    return exp(x) * tanh(x) / sqrt(x + 1) - log(x) + abs(-x) * 3;
  };
  for (const double x : {0.3, 1.0, 2.5}) {
    const double h = 1e-5, slope = (f(x + h) - f(x - h)) / (2 * h);
    const Dual y = f(Dual(static_cast<float>(x), 1.0f));
    EXPECT_NEAR(y.value, f(x), 1e-5);
    EXPECT_NEAR(y.derivative, slope, 1e-4);
  }
  EXPECT_EQ(max(Dual(1, 5), Dual(2, 7)).derivative, 7);
  EXPECT_EQ(min(Dual(1, 5), Dual(2, 7)).derivative, 5);
}

}  // namespace qkv::score_mod_test
