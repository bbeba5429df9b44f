#include "qkv/op/concatenate.h"

#include "qkv/op/arithmetic.h"
#include "qkv/test_support/gradient_check.h"

namespace qkv::concatenate_test {

using namespace test;

TEST(Concatenate, JoinsTensorsInOrder) {
  const Tensor a = Tensor::from({1, 2, 3, 4}, {2, 2}), b = Tensor::from({5, 6}, {2, 1});
  EXPECT_TRUE(same_bits(concatenate({a, b}, 1).value(), Tensor::from({1, 2, 5, 3, 4, 6}, {2, 3})));
  EXPECT_TRUE(same_bits(concatenate({a, a}, 0).value(), Tensor::from({1, 2, 3, 4, 1, 2, 3, 4}, {4, 2})));
  const Tensor ids = Tensor::from(std::vector<int32_t>{1, 2}, {2});
  EXPECT_EQ(concatenate({ids, ids}, 0).value().at<int32_t>({3}), 2);
}

// Part n of x is (outer, sizes[n], inner).
std::vector<double> formula(const Doubles& x, int64_t outer, const std::vector<int64_t>& sizes, int64_t inner) {
  std::vector<double> y;
  for (int64_t o = 0; o < outer; ++o)
    for (size_t n = 0; n < sizes.size(); ++n)
      for (int64_t i = 0; i < sizes[n] * inner; ++i) y.push_back(x[n][o * sizes[n] * inner + i]);
  return y;
}

TEST(Concatenate, EqualsItsFormula) {
  check_op(
      "last axis", {random_tensor({2, 3, 4}, 1), random_tensor({2, 3, 1}, 2), random_tensor({2, 3, 2}, 3)},
      [](const Variables& x) { return concatenate(x, 2); },
      [](const Doubles& x) {
        return formula(x, 6, {4, 1, 2}, 1);
      });
  check_op(
      "middle axis", {random_tensor({2, 3, 4}, 1), random_tensor({2, 0, 4}, 2), random_tensor({2, 2, 4}, 3)},
      [](const Variables& x) { return concatenate(x, 1); },
      [](const Doubles& x) {
        return formula(x, 2, {3, 0, 2}, 4);
      });
}

TEST(Split, IsUndoneByConcatenate) {
  const Shape shape = {3, 2, 4};
  for (const int axis : {0, 1, 2})
    check_op(
        "axis " + std::to_string(axis), {random_tensor(shape, 1)},
        [&](const Variables& x) { return concatenate(split(x[0], axis), axis); },
        [](const Doubles& x) { return x[0]; });
}

// Positions that are not used have a zero gradient, those that are used twice have the sum of both, and another use
// of the whole adds its own.
TEST(Split, AddsUpTheGradientsOfItsUses) {
  check_op(
      "uses", {random_tensor({2, 3}, 1)},
      [](const Variables& x) {
        const Variable whole = multiply(x[0], x[0]);
        const Variables columns = split(whole, 1);
        const Variable product = multiply(columns[0], columns[2]);
        return concatenate({product, scale(columns[2], 3.0f), whole}, 1);
      },
      [](const Doubles& x) {
        std::vector<double> y;
        for (size_t row = 0; row < 6; row += 3) {
          const double a = x[0][row] * x[0][row], b = x[0][row + 1] * x[0][row + 1],
                       c = x[0][row + 2] * x[0][row + 2];
          y.insert(y.end(), {a * c, 3 * c, a, b, c});
        }
        return y;
      });
}

TEST(Concatenate, RejectsPartsThatDoNotFit) {
  EXPECT_EQ(error_of([] {
              concatenate({Tensor::zeros({2, 3}), Tensor::zeros({3, 3})}, 1);
            }),
            "concatenate: f32 (2, 3) and f32 (3, 3): only axis 1 may differ");
  EXPECT_EQ(error_of([] { concatenate({}, 1); }),
            "concatenate: axis 1 of 0 tensors: expected at least one tensor that has the axis");
}

}  // namespace qkv::concatenate_test
