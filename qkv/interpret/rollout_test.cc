#include "qkv/interpret/rollout.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/test_support/tensors.h"

namespace qkv::rollout_test {

// Rows of positive numbers that sum to 1.
Tensor weights(int64_t H, int64_t T, uint64_t stream) {
  Tensor out = test::random_tensor({H, T, T}, stream);
  for (int64_t row = 0; row < H * T; ++row) {
    float* w = out.data<float>() + row * T;
    float sum = 0;
    for (int64_t s = 0; s < T; ++s) sum += w[s] *= w[s];
    for (int64_t s = 0; s < T; ++s) w[s] /= sum;
  }
  return out;
}

// What reaches position t from token s through the first n layers, as the recursion of the definition.
double share(const std::vector<Tensor>& layers, size_t n, int64_t t, int64_t s) {
  if (n == 0) return t == s ? 1 : 0;
  const Tensor& w = layers[n - 1];
  double sum = share(layers, n - 1, t, s) / 2;
  for (int64_t k = 0; k < w.dim(1); ++k) {
    double mean = 0;
    for (int64_t h = 0; h < w.dim(0); ++h) mean += w.at<float>({h, t, k}) / static_cast<double>(w.dim(0));
    sum += mean * share(layers, n - 1, k, s) / 2;
  }
  return sum;
}

TEST(Rollout, IsTheShareOfEveryTokenThroughAllLayers) {
  const std::vector<Tensor> layers = {weights(2, 5, 1), weights(3, 5, 2), weights(1, 5, 3)};
  for (size_t n = 1; n <= 3; ++n) {
    const Tensor shares = attention_rollout(std::span(layers).first(n));
    for (int64_t t = 0; t < 5; ++t)
      for (int64_t s = 0; s < 5; ++s) EXPECT_NEAR(shares.at<float>({t, s}), share(layers, n, t, s), 1e-6);
  }
}

TEST(Rollout, APositionThatSeesNoKeyKeepsItsToken) {
  const Tensor none = Tensor::zeros({2, 3, 3});
  const Tensor shares = attention_rollout(std::vector{none, none});
  for (int64_t t = 0; t < 3; ++t)
    for (int64_t s = 0; s < 3; ++s) EXPECT_EQ(shares.at<float>({t, s}), t == s ? 1 : 0);
}

TEST(Rollout, RefusesWeightsThatAreNotOfSelfAttention) {
  EXPECT_THROW(attention_rollout({}), Error);
  EXPECT_THROW(attention_rollout(std::vector{Tensor::zeros({2, 3, 4})}), Error);
  EXPECT_THROW(attention_rollout(std::vector{Tensor::zeros({3, 3})}), Error);
  EXPECT_THROW(attention_rollout(std::vector{weights(2, 3, 1), weights(2, 4, 1)}), Error);
}

}  // namespace qkv::rollout_test
