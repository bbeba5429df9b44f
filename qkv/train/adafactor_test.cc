#include "qkv/train/adafactor.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/test_support/tensors.h"
#include "qkv/train/gradients_test.h"

namespace qkv::adafactor_test {

// The formulas of the header, in float64, of a matrix; of one row for a vector.
struct Reference {
  size_t M, N;
  bool is_matrix;
  std::vector<double> p, R = std::vector<double>(is_matrix ? M : M * N), C = std::vector<double>(N);
  int n = 0;

  void step(const std::vector<float>& gradient, double rate, double grad_scale, double weight_decay) {
    const double b = 1 - std::pow(++n, -0.8);
    std::vector<double> g(M * N), u(M * N);
    for (size_t i = 0; i < g.size(); ++i) g[i] = grad_scale * static_cast<double>(gradient[i]);
    const auto average = [&](double& moment, double square) { moment = b * moment + (1 - b) * (square + 1e-30); };
    if (is_matrix) {
      double mean = 0;
      for (size_t i = 0; i < M; ++i) {
        double squares = 0;
        for (size_t j = 0; j < N; ++j) squares += g[i * N + j] * g[i * N + j];
        average(R[i], squares / static_cast<double>(N));
        mean += R[i] / static_cast<double>(M);
      }
      for (size_t j = 0; j < N; ++j) {
        double squares = 0;
        for (size_t i = 0; i < M; ++i) squares += g[i * N + j] * g[i * N + j];
        average(C[j], squares / static_cast<double>(M));
      }
      for (size_t i = 0; i < u.size(); ++i) u[i] = g[i] / std::sqrt(R[i / N] * C[i % N] / mean);
    } else {
      for (size_t i = 0; i < u.size(); ++i) {
        average(R[i], g[i] * g[i]);
        u[i] = g[i] / std::sqrt(R[i]);
      }
    }
    double squares = 0;
    for (const double x : u) squares += x * x;
    const double rms = std::sqrt(squares / static_cast<double>(u.size()));
    for (size_t i = 0; i < u.size(); ++i)
      p[i] = p[i] * (is_matrix ? 1 - rate * weight_decay : 1) - rate * u[i] / std::max(1.0, rms);
  }
};

TEST(Adafactor, MovesMatricesAndVectorsAsInDoublePrecision) {
  const size_t M = 60, N = 700;
  const std::vector<float> start = random_values(M * N, 0);
  Variable matrix = parameter(start, {60, 700}), vector = parameter(start, {42000}), idle = parameter({3}, {1});
  Reference of_matrix{M, N, true, {start.begin(), start.end()}},
      of_vector{M, N, false, {start.begin(), start.end()}};
  Adafactor adafactor({matrix, vector, idle}, {.weight_decay = 0.1});
  for (uint64_t n = 1; n <= 4; ++n) {
    std::vector<float> g = random_values(M * N, n);
    for (float& x : g) x *= n == 3 ? 30.0f : 1.0f;  // which is clipped
    give_gradient(matrix, g);
    give_gradient(vector, g);
    adafactor.step(0.01, 0.5);
    adafactor.zero_grad();
    of_matrix.step(g, 0.01, 0.5, 0.1);
    of_vector.step(g, 0.01, 0.5, 0.1);
  }
  for (size_t i = 0; i < start.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(matrix.value().span<float>()[i]), of_matrix.p[i], 2e-6) << i;
    ASSERT_NEAR(static_cast<double>(vector.value().span<float>()[i]), of_vector.p[i], 2e-6) << i;
  }
  EXPECT_EQ(idle.value().at<float>({0}), 3.0f);
}

TEST(Adafactor, KeepsRowsAndColumnsOfMatrices) {
  Adafactor adafactor({parameter(random_values(12, 0), {3, 4}), parameter({1, 2}, {2})});
  const std::vector<OptimizerState> state = adafactor.state();
  ASSERT_EQ(state.size(), 3u);
  EXPECT_EQ(state[0].name, "adafactor.rows");
  EXPECT_EQ(state[0].value.shape(), (Shape{3}));
  EXPECT_EQ(state[1].name, "adafactor.columns");
  EXPECT_EQ(state[1].value.shape(), (Shape{4}));
  EXPECT_EQ(state[2].name, "adafactor.second");
  EXPECT_EQ(state[2].value.shape(), (Shape{2}));
}

TEST(Adafactor, IsTheSameOnAnyNumberOfThreadsAndStaysFiniteWithoutGradients) {
  const int before = threads();
  const auto after = [&](int count, float scale) {
    set_threads(count);
    std::vector<float> g = random_values(90 * 500, 3);
    for (float& x : g) x *= scale;
    Variable p = parameter(random_values(90 * 500, 2), {90, 500});
    Adafactor adafactor({p});
    give_gradient(p, g);
    adafactor.step(0.01);
    return p.value();
  };
  EXPECT_TRUE(test::same_bits(after(1, 1), after(3, 1)));
  const Tensor still = after(2, 0);
  EXPECT_TRUE(test::same_bits(still, Tensor::from(random_values(90 * 500, 2), {90, 500})));
  set_threads(before);
}

TEST(Adafactor, RejectsInvalidOptions) {
  EXPECT_THROW(Adafactor({parameter({1}, {1})}, {.weight_decay = -1}), UsageError);
}

}  // namespace qkv::adafactor_test
