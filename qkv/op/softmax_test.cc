#include "qkv/op/softmax.h"

#include "qkv/test_support/gradient_check.h"

namespace qkv::softmax_test {

using namespace test;

// Rows of width S; entries from length(row) on are masked.
std::vector<double> formula(const std::vector<double>& x, int64_t S,
                            const std::function<int64_t(int64_t)>& length) {
  std::vector<double> y(x.size());
  for (int64_t row = 0; S > 0 && row < static_cast<int64_t>(x.size()) / S; ++row) {
    double maximum = -INFINITY, total = 0;
    for (int64_t j = 0; j < length(row); ++j) maximum = std::max(maximum, x[row * S + j]);
    for (int64_t j = 0; j < length(row); ++j) total += std::exp(x[row * S + j] - maximum);
    for (int64_t j = 0; j < length(row); ++j) y[row * S + j] = std::exp(x[row * S + j] - maximum) / total;
  }
  return y;
}

TEST(Softmax, EqualsItsFormula) {
  for (const Shape& shape : {Shape{3, 5}, {1, 1}, {4}, {2, 2, 37}, {0, 3}, {3, 0}})
    check_op(
        to_string(shape), {random_tensor(shape, 1, 3.0)}, [](const Variables& v) { return softmax(v[0]); },
        [S = shape.dim(-1)](const Doubles& d) { return formula(d[0], S, [S](int64_t) { return S; }); });
}

TEST(Softmax, IsStableForLargeNumbersAndGivesMinusInfinityNoWeight) {
  const Tensor y = softmax(Tensor::from({1e30f, 1e30f, -INFINITY, -1e30f}, {1, 4})).value();
  expect_close(y, {0.5, 0.5, 0, 0}, 1e-7, "weights");
}

TEST(MaskedSoftmax, OnlyTheFirstEntriesOfARowHaveWeights) {
  const std::vector<int32_t> of_batch = {3, 0}, of_row = {1, 5, 0, 4, 2, 3};
  check_op(
      "(B)", {random_tensor({2, 3, 5}, 1, 3.0)},
      [&](const Variables& v) { return masked_softmax(v[0], Tensor::from(of_batch, {2})); },
      [&](const Doubles& d) { return formula(d[0], 5, [&](int64_t row) { return of_batch[row / 3]; }); });
  check_op(
      "(B,T)", {random_tensor({2, 3, 5}, 1, 3.0)},
      [&](const Variables& v) {
        return masked_softmax(v[0], Tensor::from(of_row, {2, 3}));
      },
      [&](const Doubles& d) { return formula(d[0], 5, [&](int64_t row) { return of_row[row]; }); });
}

TEST(MaskedSoftmax, RejectsLengthsThatDoNotFit) {
  const Variable x = Tensor::zeros({2, 3, 5});
  const auto with = [&](const std::vector<int32_t>& lengths, const Shape& shape) {
    return error_of([&] { masked_softmax(x, Tensor::from(lengths, shape)); });
  };
  EXPECT_EQ(with({1, 6}, {2}), "masked_softmax: lengths must be 0 to S 5, got 6");
  EXPECT_EQ(with({1, -1}, {2}), "masked_softmax: lengths must be 0 to S 5, got -1");
  EXPECT_EQ(with({1, 1, 1}, {3}),
            "masked_softmax: x is (B 2, T 3, S 5), lengths are i32 (3): expected i32 (B) or (B,T)");
  EXPECT_NE(error_of([&] { masked_softmax(x, Tensor::zeros({2})); }), "no error");
}

}  // namespace qkv::softmax_test
