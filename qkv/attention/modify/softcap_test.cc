#include "qkv/attention/modify/softcap.h"

#include "qkv/attention/modify/bias.h"
#include "qkv/attention/modify/modifier_test.h"

namespace qkv::softcap_test {

using namespace test;

const AttentionShape small{.B = 2, .H = 2, .G = 1, .T = 3, .S = 5, .D = 3, .E = 2};

TEST(Softcap, EqualsItsFormulaForwardAndBackward) {
  for (const double cap : {0.3, 2.0, 50.0})
    for (const bool is_causal : {false, true})
      check_op(
          "softcap",
          {random_tensor({2, 2, 3, 3}, 1), random_tensor({2, 1, 5, 3}, 2), random_tensor({2, 1, 5, 2}, 3)},
          [&](const Variables& x) {
            return attention(
                x[0], x[1], x[2],
                {.modify = {softcap(static_cast<float>(cap))}, .mask = is_causal ? causal() : MaskPtr()});
          },
          modified(small, is_causal, [&](const Doubles&) { return reference::softcap(static_cast<float>(cap)); }),
          {.value = 2e-6, .gradient = 1e-5, .strided = false});
}

TEST(Softcap, PassesTheGradientBackOverAllTiles) {
  uint64_t stream = 0;
  for (const AttentionShape& n : modifier_shapes())
    for (const bool is_causal : {false, true})
      check_modifier(n, softcap(0.5f), reference::softcap(0.5), {.is_causal = is_causal, .stream = stream += 10});
}

TEST(Softcap, BoundsEveryScore) {
  const Tensor q = Tensor::full({1, 1, 1, 1}, 1e4f), k = Tensor::from({-1e4f, 0, 1e4f}, {1, 1, 3, 1});
  const auto weights = attention_with_weights(q, k, k, {.modify = {softcap(2)}}).weights;
  const double total = std::exp(-2) + 1 + std::exp(2);
  expect_close(weights, {std::exp(-2) / total, 1 / total, std::exp(2) / total}, 1e-6, "weights");
}

TEST(Softcap, KeepsPairsMaskedByABias) {
  const Variable q(random_tensor({1, 1, 2, 3}, 1), {.requires_grad = true}), k(random_tensor({1, 1, 4, 3}, 2));
  const float masked = -INFINITY;
  const Variable pairs(Tensor::from({0, masked, 0, masked, masked, masked, masked, masked}, {1, 1, 2, 4}),
                       {.requires_grad = true});
  const auto result = attention_with_weights(q, k, k, {.modify = {bias(pairs), softcap(1)}});
  result.out.backward(random_tensor({1, 1, 2, 3}, 3));
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

}  // namespace qkv::softcap_test
