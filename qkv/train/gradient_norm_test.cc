#include "qkv/train/gradient_norm.h"

#include <gtest/gtest.h>

#include "qkv/base/threads.h"
#include "qkv/train/gradients_test.h"

namespace qkv::gradient_norm_test {

TEST(ClipGradients, ScalesDownToTheNormAndNeverUp) {
  Variable a = parameter({0, 0}, {2}), b = parameter({0}, {1}), untouched = parameter({0}, {1});
  std::vector<Variable> all = {a, b, untouched};
  give_gradient(a, {3, 0});
  give_gradient(b, {-4});
  EXPECT_DOUBLE_EQ(gradient_norm(all), 5);
  EXPECT_DOUBLE_EQ(clip_gradients(all, 10), 5);
  EXPECT_EQ(a.grad().at<float>({0}), 3.0f);
  EXPECT_DOUBLE_EQ(clip_gradients(all, 1), 5);
  EXPECT_FLOAT_EQ(a.grad().at<float>({0}), 0.6f);
  EXPECT_FLOAT_EQ(b.grad().at<float>({0}), -0.8f);
  EXPECT_DOUBLE_EQ(clip_gradients(all, 0), gradient_norm(all));  // 0 means no limit
}

TEST(ClipGradients, NormIsTheSameOnAnyNumberOfThreads) {
  Variable p = parameter(random_values(200'003, 1), {200'003});
  give_gradient(p, random_values(200'003, 2));
  const std::vector<Variable> all = {p};
  const int before = threads();
  set_threads(1);
  const double one = gradient_norm(all);
  set_threads(3);
  EXPECT_EQ(gradient_norm(all), one);
  set_threads(before);
}

}  // namespace qkv::gradient_norm_test
