#include "qkv/attention/score/distance.h"

#include "qkv/attention/score/formula_test.h"
#include "qkv/op/arithmetic.h"

namespace qkv {
namespace {

using namespace test;

double squared(const double* q, const double* k, int64_t D) {
  double sum = 0;
  for (int64_t d = 0; d < D; ++d) sum += (q[d] - k[d]) * (q[d] - k[d]);
  return sum;
}

TEST(Distance, IsItsFormulaInEveryInput) {
  for (const int64_t D : {1, 3, 6})
    for (const Sizes& n : score_sizes(D, D))
      check_op(
          "distance", n.inputs(),
          [&](const Variables& x) { return attention(x[0], x[1], x[2], {.score = distance(), .mask = n.mask()}); },
          [&](const Doubles& x) {
            return attention_by([&](const double* q, const double* k, int64_t) { return -squared(q, k, n.Dq) / 2; },
                                n, x[0], x[1], x[2]);
          },
          {.value = 3e-6, .gradient = 1e-5, .strided = false});
}

TEST(Gaussian, IsItsFormulaInEveryInputAndItsWidth) {
  for (const float sigma : {0.7f, 1.5f})
    for (const Sizes& n : score_sizes(3, 3)) {
      std::vector<Tensor> inputs = n.inputs();
      inputs.push_back(Tensor::full({1}, sigma));
      check_op(
          "gaussian", inputs,
          [&](const Variables& x) {
            const Variable width = scale(x[3], 1.0f);  // its two gradients arrive at x[3] as one sum
            return attention(x[0], x[1], x[2], {.score = gaussian(width), .mask = n.mask()});
          },
          [&](const Doubles& x) {
            const PairScore score = [&](const double* q, const double* k, int64_t) {
              return -squared(q, k, n.Dq) / (2 * x[3][0] * x[3][0]);
            };
            return attention_by(score, n, x[0], x[1], x[2]);
          },
          {.value = 5e-6, .gradient = 2e-5, .strided = false});
    }
}

// |q|^2 - 2 q.k + |k|^2 in float would be off by whole numbers here.
TEST(Distance, KeepsTheDigitsOfNearPointsFarFromTheOrigin) {
  const Tensor near = random({1, 2, 70, 4}, 1), keys = random({1, 2, 90, 4}, 2), values = random({1, 2, 90, 3}, 3);
  Tensor q = near.clone(), k = keys.clone();
  for (float& x : q.span<float>()) x = std::round(x * 256) / 256 + 4096;  // exact in float
  for (float& x : k.span<float>()) x = std::round(x * 256) / 256 + 4096;
  const Sizes n{1, 2, 2, 70, 90, 4, 4, 3};
  const std::vector<double> wanted =
      attention_by([](const double* a, const double* b, int64_t) { return -squared(a, b, 4) / 2; }, n, doubles(q),
                   doubles(k), doubles(values));
  expect_close(attention(q, k, values, {.score = distance()}), wanted, 2e-6, "out");
}

TEST(Gaussian, RejectsASigmaThatIsNotOnePositiveNumber) {
  EXPECT_EQ(error_of([] { gaussian(0.0f); }), "gaussian: sigma must be positive and finite, got 0");
  EXPECT_EQ(error_of([] { gaussian(Tensor::zeros({2})); }), "gaussian: sigma must be f32 of shape (1), got (2)");
}

}  // namespace
}  // namespace qkv
