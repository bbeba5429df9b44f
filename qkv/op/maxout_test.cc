#include "qkv/op/maxout.h"

#include <algorithm>

#include "qkv/test_support/gradient_check.h"

namespace qkv::maxout_test {

using namespace test;

TEST(Maxout, EqualsItsFormula) {
  for (const int64_t pieces : {1, 2, 3})
    check_op(
        std::to_string(pieces) + " pieces", {random_tensor({2, 5, 12}, 1)},
        [&](const Variables& x) { return maxout(x[0], pieces); },
        [&](const Doubles& x) {
          std::vector<double> y;
          for (auto group = x[0].begin(); group != x[0].end(); group += pieces)
            y.push_back(*std::max_element(group, group + pieces));
          return y;
        });
}

TEST(Maxout, GivesTheGradientToTheFirstOfEqualNumbers) {
  Variable x(Tensor::from({1, 1, 2, 3}, {1, 4}), {.requires_grad = true});
  maxout(x).backward(Tensor::from({5, 7}, {1, 2}));
  EXPECT_TRUE(same_bits(x.grad(), Tensor::from({5, 0, 0, 7}, {1, 4})));
}

TEST(Maxout, RejectsWidthsThatDoNotFit) {
  EXPECT_EQ(error_of([] {
              maxout(Tensor::zeros({2, 3}));
            }),
            "maxout: the width of x (2, 3) must be a multiple of 2 pieces");
}

}  // namespace qkv::maxout_test
