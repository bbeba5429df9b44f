#include "qkv/op/norm.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::norm_test {

using namespace test;

TEST(LayerNorm, EqualsItsFormula) {
  constexpr double eps = 1e-5;
  for (const Shape& shape : {Shape{2, 3, 8}, {1, 2}, {5, 33}, {0, 4}, {7}}) {
    const int64_t C = shape.dim(-1);
    check_op(
        to_string(shape), {random_tensor(shape, 1, 2.0), random_tensor({C}, 2), random_tensor({C}, 3)},
        [](const Variables& v) { return layer_norm(v[0], v[1], v[2], 1e-5f); },
        [C](const Doubles& d) {
          std::vector<double> y(d[0].size());
          for (size_t m = 0; m < y.size(); m += C) {
            double mean = 0, variance = 0;
            for (int64_t c = 0; c < C; ++c) mean += d[0][m + c] / C;
            for (int64_t c = 0; c < C; ++c) variance += (d[0][m + c] - mean) * (d[0][m + c] - mean) / C;
            for (int64_t c = 0; c < C; ++c)
              y[m + c] = (d[0][m + c] - mean) / std::sqrt(variance + eps) * d[1][c] + d[2][c];
          }
          return y;
        });
  }
}

TEST(LayerNorm, WithoutABiasEqualsABiasOfZero) {
  const Tensor x = random_tensor({3, 8}, 1), weight = random_tensor({8}, 2);
  const Variable a(x, {.requires_grad = true}), b(x, {.requires_grad = true});
  const Variable y = layer_norm(a, weight, {}), z = layer_norm(b, weight, Tensor::zeros({8}));
  EXPECT_TRUE(same_bits(y.value(), z.value()));
  y.backward(random_tensor({3, 8}, 3));
  z.backward(random_tensor({3, 8}, 3));
  EXPECT_TRUE(same_bits(a.grad(), b.grad()));
}

TEST(RmsNorm, EqualsItsFormula) {
  constexpr double eps = 1e-6;
  for (const Shape& shape : {Shape{2, 3, 8}, {1, 1}, {5, 33}, {0, 4}, {7}}) {
    const int64_t C = shape.dim(-1);
    check_op(
        to_string(shape), {random_tensor(shape, 1, 2.0), random_tensor({C}, 2)},
        [](const Variables& v) { return rms_norm(v[0], v[1], 1e-6f); },
        [C](const Doubles& d) {
          std::vector<double> y(d[0].size());
          for (size_t m = 0; m < y.size(); m += C) {
            double squares = 0;
            for (int64_t c = 0; c < C; ++c) squares += d[0][m + c] * d[0][m + c] / C;
            for (int64_t c = 0; c < C; ++c) y[m + c] = d[0][m + c] / std::sqrt(squares + eps) * d[1][c];
          }
          return y;
        });
  }
}

TEST(UnitNorm, EqualsItsFormula) {
  for (const Shape& shape : {Shape{2, 3, 8}, {2, 1}, {5, 33}, {0, 4}, {7}}) {
    const int64_t C = shape.dim(-1);
    check_op(
        to_string(shape), {random_tensor(shape, 1, 2.0)}, [](const Variables& v) { return unit_norm(v[0]); },
        [C](const Doubles& d) {
          std::vector<double> y(d[0].size());
          for (size_t m = 0; m < y.size(); m += C) {
            double squares = 0;
            for (int64_t c = 0; c < C; ++c) squares += d[0][m + c] * d[0][m + c];
            for (int64_t c = 0; c < C; ++c) y[m + c] = d[0][m + c] / std::sqrt(squares);
          }
          return y;
        });
  }
}

TEST(UnitNorm, ARowOfZerosStaysZeroAndHasNoGradient) {
  const Variable x(Tensor::zeros({2, 3}), {.requires_grad = true});
  const Variable y = unit_norm(x);
  y.backward(random_tensor({2, 3}, 1));
  EXPECT_EQ(doubles(y.value()), std::vector<double>(6, 0.0));
  EXPECT_EQ(doubles(x.grad()), std::vector<double>(6, 0.0));
}

TEST(LayerNorm, ARowOfEqualNumbersIsTheBias) {
  const Tensor bias = random_tensor({6}, 1);
  const Variable y = layer_norm(Tensor::full({2, 6}, 1e4f), random_tensor({6}, 2), bias);
  EXPECT_TRUE(same_bits(y.value().slice(0, 1, 2).reshape({6}), bias));
}

TEST(Norm, RejectsWidthsThatDiffer) {
  const Variable x = Tensor::zeros({2, 4}), w = Tensor::zeros({3});
  EXPECT_EQ(error_of([&] { layer_norm(x, w, w); }),
            "layer_norm: x (..., C) is (2, 4), weight (C) is (3), bias (C) is (3)");
  EXPECT_EQ(error_of([&] { rms_norm(x, w); }), "rms_norm: x (..., C) is (2, 4), weight (C) is (3)");
}

}  // namespace qkv::norm_test
