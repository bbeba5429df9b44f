#include "qkv/attention/modify/softcap.h"

#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/plain_attention_test.h"

namespace qkv {
namespace {

using namespace test;

const AttentionShape small{.B = 2, .H = 2, .G = 1, .T = 3, .S = 5, .D = 3, .E = 2};

ScoreRule capped(double cap) {
  return [cap](auto, auto, auto, auto, double s) { return cap * std::tanh(s / cap); };
}

TEST(Softcap, IsItsFormulaForwardAndBackward) {
  for (const double cap : {0.3, 2.0, 50.0})
    for (const bool is_causal : {false, true})
      check_op(
          "softcap", {random({2, 2, 3, 3}, 1), random({2, 1, 5, 3}, 2), random({2, 1, 5, 2}, 3)},
          [&](const Variables& x) {
            return attention(
                x[0], x[1], x[2],
                {.modify = {softcap(static_cast<float>(cap))}, .mask = is_causal ? causal() : MaskPtr()});
          },
          [&](const Doubles& x) {
            return plain_attention(small, x[0], x[1], x[2], {}, capped(static_cast<float>(cap)),
                                   is_causal ? causal_rule(small) : every_pair)
                .out;
          },
          {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

// dq_i = sum_j ds_ij (1 - tanh^2(s_ij / cap)) k_j / sqrt(D)
TEST(Softcap, PassesTheGradientBackOverAllTiles) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (const bool is_causal : {false, true}) {
      const Modified x(n, softcap(1.5f), capped(1.5), is_causal, stream += 10, 3.0);
      std::vector<double> dq(static_cast<size_t>(n.B * n.H * n.T * n.D));
      const std::vector<double> k = doubles(x.k.value());
      for (int64_t row = 0; row < n.B * n.H * n.T; ++row)
        for (int64_t j = 0; j < n.S; ++j) {
          const int64_t key = (row / (n.H * n.T) * n.G + row / n.T % n.H * n.G / n.H) * n.S + j;
          const double t = std::tanh(x.wanted.s[row * n.S + j] / 1.5);
          for (int64_t d = 0; d < n.D; ++d)
            dq[row * n.D + d] +=
                x.wanted.ds[row * n.S + j] * (1 - t * t) * k[key * n.D + d] / std::sqrt(static_cast<double>(n.D));
        }
      expect_close(x.q.grad(), dq, 1e-5, "dq");
    }
}

TEST(Softcap, BoundsEveryScore) {
  const Tensor q = Tensor::full({1, 1, 1, 1}, 1e4f), k = Tensor::from({-1e4f, 0, 1e4f}, {1, 1, 3, 1});
  const auto weights = attention_with_weights(q, k, k, {.modify = {softcap(2)}}).weights;
  const double total = std::exp(-2) + 1 + std::exp(2);
  expect_close(weights, {std::exp(-2) / total, 1 / total, std::exp(2) / total}, 1e-6, "weights");
}

TEST(Softcap, KeepsPairsMaskedThatABiasMasked) {
  const Variable q(random({1, 1, 2, 3}, 1), {.requires_grad = true}), k(random({1, 1, 4, 3}, 2));
  const float masked = -INFINITY;
  const Variable pairs(Tensor::from({0, masked, 0, masked, masked, masked, masked, masked}, {1, 1, 2, 4}),
                       {.requires_grad = true});
  const auto result = attention_with_weights(q, k, k, {.modify = {bias(pairs), softcap(1)}});
  result.out.backward(random({1, 1, 2, 3}, 3));
  EXPECT_EQ(result.weights.at<float>({0, 0, 0, 1}), 0.0f);
  for (int64_t j = 0; j < 4; ++j) EXPECT_EQ(result.weights.at<float>({0, 0, 1, j}), 0.0f);
  EXPECT_EQ(result.lse.at<float>({0, 0, 1}), masked);
  for (const Tensor& g : {q.grad(), pairs.grad()})
    for (const float x : g.span<float>()) EXPECT_TRUE(std::isfinite(x));
  EXPECT_EQ(pairs.grad().at<float>({0, 0, 0, 1}), 0.0f);
}

TEST(Softcap, RejectsACapThatIsNotPositive) {
  EXPECT_EQ(error_of([] { softcap(0); }), "softcap: the cap must be positive and finite, got 0");
  EXPECT_EQ(error_of([] { softcap(INFINITY); }), "softcap: the cap must be positive and finite, got inf");
  EXPECT_EQ(softcap(50)->name(), "softcap(50)");
}

}  // namespace
}  // namespace qkv
