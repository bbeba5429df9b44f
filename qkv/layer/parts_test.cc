// Linear, norm, feed-forward, and how parameters begin.
#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/feed_forward.h"
#include "qkv/layer/layer_test.h"
#include "qkv/layer/norm.h"

namespace qkv::parts_test {

using namespace test;

TEST(Linear, MultipliesByItsWeightAndAddsItsBias) {
  Linear layer(3, 2);
  layer.weight.mutable_value().copy_from(Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}));
  layer.bias.mutable_value().copy_from(Tensor::from({10, 20}, {2}));
  const Tensor y = layer.forward(Tensor::from({1, 0, -1, 2, 2, 2}, {2, 3})).value();
  EXPECT_EQ(largest_difference(y, Tensor::from({8, 18, 22, 50}, {2, 2})), 0.0);
  EXPECT_THROW(layer.forward(Tensor::zeros({2, 4})), Error);
  Linear plain(3, 2, false);
  EXPECT_EQ(names_of(plain, "x"), (std::vector<std::string>{"x.weight"}));
}

TEST(Linear, BeginsAsAFunctionOfSeedAndName) {
  Linear a(30, 20), b(30, 20), c(30, 20), d(30, 20);
  a.initialise("here", 1);
  b.initialise("here", 1);
  c.initialise("there", 1);
  d.initialise("here", 2);
  EXPECT_TRUE(same_bits(a.weight.value(), b.weight.value()));
  EXPECT_FALSE(same_bits(a.weight.value(), c.weight.value()));
  EXPECT_FALSE(same_bits(a.weight.value(), d.weight.value()));
  for (const float x : a.bias.value().span<float>()) EXPECT_EQ(x, 0.0f);
  double square = 0;
  for (const float x : a.weight.value().span<float>()) {
    EXPECT_LE(std::abs(x), 1 / std::sqrt(30.0f));
    square += static_cast<double>(x) * x / 600;
  }
  EXPECT_NEAR(square, 1.0 / 90, 0.001) << "the variance of uniform numbers in +- 1 / sqrt(30)";
}

TEST(Norm, BeginsAsTheIdentityOfNormalisedRows) {
  Norm norm(4);
  const Tensor y = norm.forward(Tensor::from({1, 2, 3, 4, 5, 5, 5, 5}, {2, 4})).value();
  const auto d = static_cast<float>(std::sqrt(1.25 + 1e-5));
  EXPECT_LT(largest_difference(y, Tensor::from({-1.5f / d, -0.5f / d, 0.5f / d, 1.5f / d, 0, 0, 0, 0}, {2, 4})),
            1e-6);
  EXPECT_EQ(names_of(norm, "n"), (std::vector<std::string>{"n.weight", "n.bias"}));
  EXPECT_THROW(norm.forward(Tensor::zeros({2, 5})), Error);
}

TEST(Norm, EachKindNormalisesThenScalesAndShifts) {
  const Tensor x = random_tensor({3, 4}, 1);
  for (const NormOptions& o : {NormOptions{.eps = 1e-3f},
                               {.bias = false, .weight_offset = 1.0f},
                               {.kind = NormKind::rms, .eps = 1e-2f},
                               {.kind = NormKind::rms, .weight_offset = 1.0f}}) {
    Norm norm(4, o);
    const Tensor first = norm.forward(x).value();
    EXPECT_LT(largest_difference(first, Norm(4, {.kind = o.kind, .eps = o.eps}).forward(x).value()), 1e-6)
        << "multiplies by one at the beginning";
    randomise(norm, 1);
    const bool has_bias = o.kind == NormKind::layer && o.bias;
    EXPECT_EQ(norm.bias.defined(), has_bias);
    const Tensor y = norm.forward(x).value();
    for (int64_t r = 0; r < 3; ++r) {
      double mean = 0, square = 0;
      if (o.kind == NormKind::layer)
        for (int64_t c = 0; c < 4; ++c) mean += x.at<float>({r, c}) / 4.0;
      for (int64_t c = 0; c < 4; ++c) square += std::pow(x.at<float>({r, c}) - mean, 2) / 4;
      for (int64_t c = 0; c < 4; ++c)
        EXPECT_NEAR(y.at<float>({r, c}),
                    (x.at<float>({r, c}) - mean) / std::sqrt(square + o.eps) *
                            (o.weight_offset + norm.weight.value().at<float>({c})) +
                        (has_bias ? norm.bias.value().at<float>({c}) : 0.0f),
                    2e-6);
    }
  }
}

double active(Activation activation, double x) {
  switch (activation) {
    case Activation::relu: return std::max(x, 0.0);
    case Activation::gelu: return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh: return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::silu: return x / (1 + std::exp(-x));
    case Activation::quick_gelu: return x / (1 + std::exp(-1.702 * x));
  }
  return NAN;
}

TEST(FeedForward, AppliesEachActivationBetweenItsProjectionsGatedOrNot) {
  const auto row_of = [](const Linear& linear, int64_t o, const std::vector<double>& x) {
    double sum = linear.bias.defined() ? linear.bias.value().at<float>({o}) : 0.0f;
    for (size_t i = 0; i < x.size(); ++i)
      sum += x[i] * linear.weight.value().at<float>({o, static_cast<int64_t>(i)});
    return sum;
  };
  for (const auto& named : names_of(Activation()))
    for (const bool gated : {false, true}) {
      const FeedForwardOptions o = {
          .d_model = 3, .ffn = 5, .activation = named.value, .gated = gated, .bias = !gated};
      FeedForward layer(o);
      randomise(layer, 1);
      const Tensor x = random_tensor({4, 3}, 2);
      Pass pass;
      const Tensor y = layer.forward(x, pass).value();
      for (int64_t r = 0; r < 4; ++r) {
        std::vector<double> row, hidden;
        for (int64_t i = 0; i < 3; ++i) row.push_back(x.at<float>({r, i}));
        for (int64_t f = 0; f < 5; ++f)
          hidden.push_back(gated ? active(o.activation, row_of(*layer.gate, f, row)) * row_of(layer.up, f, row)
                                 : active(o.activation, row_of(layer.up, f, row)));
        for (int64_t c = 0; c < 3; ++c) EXPECT_NEAR(y.at<float>({r, c}), row_of(layer.down, c, hidden), 1e-5);
      }
    }
}

// 300 rows are three blocks where nothing is recorded, and one otherwise.
TEST(FeedForward, OfManyRowsHasTheBitsOfEachRow) {
  for (const bool gated : {false, true}) {
    FeedForward layer({.d_model = 8, .ffn = 4096, .activation = Activation::gelu, .gated = gated});
    randomise(layer, 3);
    const Tensor x = random_tensor({3, 100, 8}, 4);
    Pass pass;
    const Tensor recorded = layer.forward(x, pass).value();
    const NoGrad guard;
    const Tensor y = layer.forward(x, pass).value();
    EXPECT_TRUE(same_bits(y, recorded));
    for (const int64_t row : {0, 127, 128, 299}) {
      const Tensor of_row = x.reshape({300, 8}).slice(0, row, row + 1);
      EXPECT_TRUE(same_bits(y.reshape({300, 8}).slice(0, row, row + 1), layer.forward(of_row, pass).value()))
          << row;
    }
  }
}

TEST(FeedForward, DropsItsHiddenLayerInTrainingOnly) {
  FeedForward layer({.d_model = 8, .ffn = 16, .dropout = 0.5f});
  randomise(layer, 2);
  const Tensor x = random_tensor({4, 8}, 3);
  Pass testing, training{.training = true, .seed = 1};
  EXPECT_GT(largest_difference(layer.forward(x, training).value(), layer.forward(x, testing).value()), 1e-2);
  EXPECT_EQ(training.dropouts, 1u);
  EXPECT_EQ(testing.dropouts, 0u);
}

TEST(Pass, EveryDropoutAndStepHasAStreamOfItsOwn) {
  Pass a{.training = true, .seed = 5, .step = 1}, b{.training = true, .seed = 5, .step = 2};
  const Dropout first = a.dropout(0.1f), second = a.dropout(0.1f), later = b.dropout(0.1f);
  EXPECT_EQ(first.seed, 5u);
  EXPECT_NE(first.stream, second.stream);
  EXPECT_NE(first.stream, later.stream);
  EXPECT_EQ(a.dropout(0).rate, 0.0f);
  Pass testing;
  EXPECT_EQ(testing.dropout(0.1f).rate, 0.0f);
}

}  // namespace qkv::parts_test
