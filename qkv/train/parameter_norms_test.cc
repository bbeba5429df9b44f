#include "qkv/train/parameter_norms.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/op/arithmetic.h"
#include "qkv/train/adam.h"

namespace qkv::parameter_norms_test {

TEST(ParameterNorms, AreThoseOfGradientValueAndUpdate) {
  Variable x(Tensor::from({1, -2, 3, 4}, {2, 2}), {.requires_grad = true});
  Variable still(Tensor::from({5, 5}, {2}), {.requires_grad = true});
  sum(multiply(x, Variable(Tensor::from({8, 8, -8, 8}, {2, 2})))).backward();
  Adam adam({x, still}, {.beta1 = 0, .beta2 = 0, .eps = 0});
  ParameterNorms norms({{"x", x}, {"still", still}});
  norms.before_update(0.25);
  adam.step(0.5, 0.25);
  norms.after_update();
  ASSERT_EQ(norms.all().size(), 2u);
  EXPECT_EQ(norms.all()[0].first, "x");
  EXPECT_DOUBLE_EQ(norms.all()[0].second.gradient, 2);
  EXPECT_DOUBLE_EQ(norms.all()[0].second.value, std::sqrt(7.5));
  EXPECT_NEAR(norms.all()[0].second.update, 0.5, 1e-6);  // the rate: without moments, Adam moves by the sign
  EXPECT_DOUBLE_EQ(norms.all()[1].second.value, 5);
  EXPECT_EQ(norms.all()[1].second.gradient, 0);
  EXPECT_EQ(norms.all()[1].second.update, 0);
}

}  // namespace qkv::parameter_norms_test
