#include "qkv/train/adam.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/test_support/tensors.h"
#include "qkv/train/gradients_test.h"

namespace qkv::adam_test {

// The formulas of the header, in float64.
struct Reference {
  std::vector<double> p, m, v;
  int n = 0;
  void step(const std::vector<float>& g, double rate, double grad_scale, const AdamOptions& o) {
    ++n;
    for (size_t i = 0; i < p.size(); ++i) {
      const double x = grad_scale * static_cast<double>(g[i]);
      p[i] -= rate * o.weight_decay * p[i];
      m[i] = o.beta1 * m[i] + (1 - o.beta1) * x;
      v[i] = o.beta2 * v[i] + (1 - o.beta2) * x * x;
      p[i] -= rate * (m[i] / (1 - std::pow(o.beta1, n))) / (std::sqrt(v[i] / (1 - std::pow(o.beta2, n))) + o.eps);
    }
  }
};

void expect_like_reference(const AdamOptions& options) {
  const size_t n = 70'001;  // three pieces
  const std::vector<float> start = random_values(n, 0);
  Variable p = parameter(start, {1, static_cast<int64_t>(n)});
  Adam adam({p}, options);
  Reference reference{{start.begin(), start.end()}, std::vector<double>(n), std::vector<double>(n)};
  for (uint64_t step = 1; step <= 5; ++step) {
    const std::vector<float> g = random_values(n, step);
    give_gradient(p, g);
    adam.step(0.01, 0.5);
    adam.zero_grad();
    reference.step(g, 0.01, 0.5, options);
  }
  for (size_t i = 0; i < n; ++i) {
    ASSERT_NEAR(static_cast<double>(p.value().span<float>()[i]), reference.p[i], 1e-6) << i;
    ASSERT_NEAR(static_cast<double>(adam.state()[0].value.span<float>()[i]), reference.m[i], 1e-6) << i;
    ASSERT_NEAR(static_cast<double>(adam.state()[1].value.span<float>()[i]), reference.v[i], 1e-6) << i;
  }
  EXPECT_EQ(adam.updates(), 5);
}

TEST(Adam, MovesParametersAndMomentsAsInDoublePrecision) { expect_like_reference({}); }
TEST(Adam, DecaysParametersAsInDoublePrecision) { expect_like_reference({.beta2 = 0.999, .weight_decay = 0.1}); }

TEST(Adam, MomentsInBf16AreNearThoseInF32) {
  const int64_t n = 70'001;
  const int before = threads();
  const auto trained = [&](OptimizerStateFormat format, int count) {
    set_threads(count);
    Variable p = parameter(random_values(static_cast<size_t>(n), 0), {1, n});
    Adam adam({p}, {.state = format});
    for (uint64_t step = 1; step <= 50; ++step) {
      give_gradient(p, random_values(static_cast<size_t>(n), step));
      adam.step(0.01);
      adam.zero_grad();
    }
    return std::pair(p.value().clone(), adam.state()[1].value.clone());
  };
  const auto [exact, second] = trained(OptimizerStateFormat::f32, 2);
  const auto [rounded, rounded_second] = trained(OptimizerStateFormat::bf16, 2);
  EXPECT_EQ(rounded_second.dtype(), DType::bf16);
  double sum = 0, rounded_sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    ASSERT_NEAR(rounded.at<float>({0, i}), exact.at<float>({0, i}), 0.02) << i;
    sum += static_cast<double>(second.at<float>({0, i}));
    rounded_sum += static_cast<double>(static_cast<float>(rounded_second.at<bfloat16>({0, i})));
  }
  EXPECT_NEAR(rounded_sum / sum, 1, 1e-4);  // no bias: rounded to nearest, it would stand still
  const auto [alone, alone_second] = trained(OptimizerStateFormat::bf16, 1);
  set_threads(before);
  EXPECT_TRUE(test::same_bits(alone, rounded));
  EXPECT_TRUE(test::same_bits(alone_second, rounded_second));
}

TEST(Adam, FirstStepHasTheSizeOfTheRate) {
  Variable p = parameter({1, 2, 3}, {3});
  Adam adam({p});
  give_gradient(p, {5, -0.001f, 0});
  adam.step(0.1);
  EXPECT_NEAR(p.value().at<float>({0}), 0.9, 1e-6);
  EXPECT_NEAR(p.value().at<float>({1}), 2.1, 1e-6);
  EXPECT_EQ(p.value().at<float>({2}), 3.0f);
}

TEST(Adam, DecaysMatricesAndSparesVectors) {
  Variable matrix = parameter({1, 1}, {1, 2}), vector = parameter({1, 1}, {2});
  const std::vector<float> none = {0, 0};
  Adam adam({matrix, vector}, {.weight_decay = 0.1});
  give_gradient(matrix, none);
  give_gradient(vector, none);
  adam.step(0.5);
  EXPECT_FLOAT_EQ(matrix.value().at<float>({0, 0}), 0.95f);
  EXPECT_EQ(vector.value().at<float>({0}), 1.0f);
  Adam all({vector}, {.weight_decay = 0.1, .decay_vectors = true});
  all.step(0.5);
  EXPECT_FLOAT_EQ(vector.value().at<float>({0}), 0.95f);
}

TEST(Adam, LeavesAParameterWithoutGradientAlone) {
  Variable a = parameter({1, 2}, {1, 2}), b = parameter({3, 4}, {1, 2});
  Adam adam({a, b}, {.weight_decay = 0.1});
  give_gradient(a, {1, 1});
  adam.step(0.1);
  EXPECT_NE(a.value().at<float>({0, 0}), 1.0f);
  EXPECT_EQ(b.value().at<float>({0, 0}), 3.0f);
  EXPECT_EQ(adam.state()[2].value.at<float>({0, 0}), 0.0f);
}

TEST(Adam, RejectsInvalidOptions) {
  Variable p = parameter({1}, {1});
  EXPECT_THROW(Adam({p}, {.beta1 = 1.0}), UsageError);
  EXPECT_THROW(Adam({p}, {.eps = -1}), UsageError);
  EXPECT_THROW(Adam({p, p}), Error);
  EXPECT_THROW(Adam({Variable(Tensor::zeros({1}))}), Error);
}

}  // namespace qkv::adam_test
