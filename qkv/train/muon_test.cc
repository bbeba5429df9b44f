#include "qkv/train/muon.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"
#include "qkv/test_support/tensors.h"
#include "qkv/train/gradients_test.h"

namespace qkv::muon_test {

using Matrix = std::vector<std::vector<double>>;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.size(), std::vector<double>(b[0].size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t k = 0; k < b.size(); ++k)
      for (size_t j = 0; j < b[0].size(); ++j) c[i][j] += a[i][k] * b[k][j];
  return c;
}

Matrix transpose(const Matrix& a) {
  Matrix t(a[0].size(), std::vector<double>(a.size()));
  for (size_t i = 0; i < a.size(); ++i)
    for (size_t j = 0; j < a[0].size(); ++j) t[j][i] = a[i][j];
  return t;
}

// The iterations of the paper.
Matrix newton_schulz(Matrix x) {
  double squares = 0;
  for (const auto& row : x)
    for (const double number : row) squares += number * number;
  for (auto& row : x)
    for (double& number : row) number /= std::sqrt(squares);
  for (int n = 0; n < 5; ++n) {
    const Matrix a = product(x, transpose(x)), aa = product(a, a), ax = product(a, x), aax = product(aa, x);
    for (size_t i = 0; i < x.size(); ++i)
      for (size_t j = 0; j < x[0].size(); ++j) x[i][j] = 3.4445 * x[i][j] - 4.7750 * ax[i][j] + 2.0315 * aax[i][j];
  }
  return x;
}

Matrix matrix_of(const Tensor& x) {
  Matrix out(static_cast<size_t>(x.dim(0)), std::vector<double>(static_cast<size_t>(x.dim(1))));
  for (int64_t i = 0; i < x.dim(0); ++i)
    for (int64_t j = 0; j < x.dim(1); ++j)
      out[static_cast<size_t>(i)][static_cast<size_t>(j)] = static_cast<double>(x.at<float>({i, j}));
  return out;
}

void expect_near(const Tensor& x, const Matrix& expected, double tolerance) {
  const Matrix found = matrix_of(x);
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t j = 0; j < found[0].size(); ++j) ASSERT_NEAR(found[i][j], expected[i][j], tolerance);
}

TEST(Muon, OrthogonalizesAsInDoublePrecision) {
  for (const Shape& shape : {Shape{20, 50}, Shape{50, 20}, Shape{1, 7}, Shape{16, 16}}) {
    const Tensor x = Tensor::from(random_values(static_cast<size_t>(shape.numel()), 1), shape);
    const Tensor before = x.clone(), y = orthogonalized(x);
    EXPECT_EQ(y.shape(), shape);
    const Matrix turned =
        shape[0] > shape[1] ? transpose(newton_schulz(transpose(matrix_of(x)))) : newton_schulz(matrix_of(x));
    expect_near(y, turned, 1e-5);
    EXPECT_TRUE(test::same_bits(x, before));
  }
  const Tensor zeros = Tensor::zeros({3, 4});
  EXPECT_TRUE(test::same_bits(orthogonalized(zeros), zeros));
}

TEST(Muon, SingularValuesAreAboutOne) {
  const Tensor y = orthogonalized(Tensor::from(random_values(30 * 100, 2), {30, 100}));
  const Matrix gram = product(matrix_of(y), transpose(matrix_of(y)));
  double trace = 0;
  for (size_t i = 0; i < gram.size(); ++i) trace += gram[i][i];
  EXPECT_NEAR(trace / 30, 1, 0.5);  // squares of 0.7 to 1.2
  for (size_t i = 0; i < gram.size(); ++i)
    for (size_t j = 0; j < i; ++j) EXPECT_LT(std::abs(gram[i][j]), 0.3);
}

TEST(Muon, MovesHiddenMatricesByTheFormulaAndTheOthersAsAdam) {
  const auto start = random_values(12, 0);
  Variable hidden = parameter(start, {3, 4}), embedding = parameter(start, {3, 4}), bias = parameter({1, 2}, {2});
  Variable by_adam = parameter(start, {3, 4});
  Muon muon({embedding, hidden, bias}, {false, true, true}, {.weight_decay = 0.1});
  Adam adam({by_adam});
  Matrix p = matrix_of(hidden.value()), b(3, std::vector<double>(4)), u = b;
  for (uint64_t n = 1; n <= 3; ++n) {
    const auto g = random_values(12, n);
    give_gradient(hidden, g);
    give_gradient(embedding, g);
    give_gradient(by_adam, g);
    muon.step(0.01, 0.5);
    adam.step(0.01, 0.5);
    muon.zero_grad();
    adam.zero_grad();
    for (size_t i = 0; i < 12; ++i) {
      b[i / 4][i % 4] = 0.95 * b[i / 4][i % 4] + 0.5 * static_cast<double>(g[i]);
      u[i / 4][i % 4] = 0.5 * static_cast<double>(g[i]) + 0.95 * b[i / 4][i % 4];
    }
    const Matrix o = newton_schulz(u);
    for (size_t i = 0; i < 12; ++i)
      p[i / 4][i % 4] = p[i / 4][i % 4] * (1 - 0.01 * 0.1) - 0.01 * 0.2 * std::sqrt(4.0) * o[i / 4][i % 4];
  }
  expect_near(hidden.value(), p, 1e-6);
  EXPECT_TRUE(test::same_bits(embedding.value(), by_adam.value()));
  EXPECT_EQ(bias.value().at<float>({1}), 2.0f) << "without a gradient it stays";
  std::vector<std::string> names;
  for (const OptimizerState& state : muon.state()) names.push_back(state.name + std::to_string(state.parameter));
  EXPECT_EQ(names, (std::vector<std::string>{"adam.first0", "adam.second0", "muon.momentum1", "adam.first2",
                                             "adam.second2"}));
}

TEST(Muon, IsTheSameOnAnyNumberOfThreads) {
  const Tensor x = Tensor::from(random_values(90 * 200, 3), {90, 200});
  const int before = threads();
  set_threads(1);
  const Tensor one = orthogonalized(x);
  set_threads(3);
  EXPECT_TRUE(test::same_bits(orthogonalized(x), one));
  set_threads(before);
}

TEST(Muon, RejectsInvalidOptions) {
  Variable p = parameter({1, 2}, {1, 2});
  EXPECT_THROW(Muon({p}, {true}, {.momentum = 1}), UsageError);
  EXPECT_THROW(Muon({p}, {true}, {.weight_decay = -1}), UsageError);
  EXPECT_THROW(Muon({p}, {}), Error);
  EXPECT_THROW(orthogonalized(Tensor::zeros({3})), Error);
}

}  // namespace qkv::muon_test
