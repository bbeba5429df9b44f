#include "qkv/op/zero_padding.h"

#include <cmath>

#include "qkv/test_support/gradient_check.h"

namespace qkv::zero_padding_test {

using namespace test;

const Tensor lengths = Tensor::from(std::vector<int32_t>{2, 0, 3}, {3});

TEST(ZeroPadding, EqualsItsFormula) {
  check_op(
      "lengths 2, 0, 3", {random_tensor({3, 3, 4}, 1)},
      [](const Variables& x) { return zero_padding(x[0], lengths); },
      [](const Doubles& x) {
        return each(x[0], [&](size_t i) {
          return static_cast<int32_t>(i / 4 % 3) < lengths.at<int32_t>({static_cast<int64_t>(i / 12)}) ? x[0][i]
                                                                                                       : 0;
        });
      });
}

TEST(ZeroPadding, ReplacesEvenNaN) {
  const Tensor y = zero_padding(Tensor::full({3, 3, 2}, NAN), lengths).value();
  EXPECT_EQ(y.at<float>({1, 0, 0}), 0.0f);
  EXPECT_EQ(y.at<float>({0, 2, 1}), 0.0f);
  EXPECT_TRUE(std::isnan(y.at<float>({0, 1, 1})));
}

TEST(ZeroPadding, RejectsLengthsThatDoNotFit) {
  EXPECT_EQ(error_of([] {
              zero_padding(Tensor::zeros({2, 3, 4}), lengths);
            }),
            "zero_padding: lengths must be i32 of shape (B), got i32 (3) for B 2");
  EXPECT_EQ(error_of([] {
              zero_padding(Tensor::zeros({3, 2, 4}), lengths);
            }),
            "zero_padding: lengths must be 0 to T 2, got 3");
}

}  // namespace qkv::zero_padding_test
