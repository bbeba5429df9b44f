// Heads whose output is zero, compared with layers whose Wo does not read these heads.
#include "qkv/layer/head_ablation.h"

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/autograd/variable.h"
#include "qkv/base/error.h"
#include "qkv/layer/attention_layer_test.h"

namespace qkv::head_ablation_test {

using namespace test;

constexpr AttentionUse use = AttentionUse::decoder;

MultiHeadAttention layer() {
  MultiHeadAttentionOptions options = options_of({}, use);
  options.layer = 3;
  return layer_of(options);
}

// Wo with zeros in the columns of these heads.
MultiHeadAttention layer_not_reading(const std::vector<int64_t>& heads) {
  MultiHeadAttention out = layer();
  for (const int64_t head : heads) out.out.weight.mutable_value().slice(1, 4 * head, 4 * head + 4).fill(0);
  return out;
}

Tensor forward(const MultiHeadAttention& layer) {
  const NoGrad guard;
  Pass pass;
  return layer.forward(random_tensor({2, 7, 16}, 5), causal(), pass).value();
}

TEST(HeadAblation, IsALayerWhoseOutputProjectionDoesNotReadTheHeads) {
  const Tensor whole = forward(layer());
  {
    const HeadAblation without({{use, 3, 1}, {use, 3, 2}});
    EXPECT_EQ(doubles(forward(layer())), doubles(forward(layer_not_reading({1, 2}))));
    {
      const HeadAblation inner({{use, 3, 0}});
      EXPECT_EQ(doubles(forward(layer())), doubles(forward(layer_not_reading({0}))));
    }
    EXPECT_EQ(doubles(forward(layer())), doubles(forward(layer_not_reading({1, 2}))))
        << "what held before holds again";
    EXPECT_NE(doubles(forward(layer())), doubles(whole));
  }
  EXPECT_EQ(doubles(forward(layer())), doubles(whole));
}

TEST(HeadAblation, ChangesNeitherOtherLayersNorOtherAttention) {
  const Tensor whole = forward(layer());
  const HeadAblation without({{use, 2, 1}, {AttentionUse::cross, 3, 1}});
  EXPECT_EQ(doubles(forward(layer())), doubles(whole));
}

TEST(HeadAblation, HoldsInDecoding) {
  const auto decoded = [](const MultiHeadAttention& layer) {
    const NoGrad guard;
    AttentionCache cache;
    Pass pass;
    layer.extend(random_tensor({2, 3, 16}, 5), cache, pass);
    return doubles(layer.extend(random_tensor({2, 1, 16}, 6), cache, pass).value());
  };
  const HeadAblation without({{use, 3, 2}});
  EXPECT_EQ(decoded(layer()), decoded(layer_not_reading({2})));
}

TEST(HeadAblation, RefusesGradientsAndHeadsThatALayerDoesNotHave) {
  const Variable x = random_tensor({1, 4, 16}, 5);
  Pass pass;
  {
    const HeadAblation without({{use, 3, 1}});
    EXPECT_THROW(layer().forward(x, causal(), pass), Error);
  }
  const NoGrad guard;
  const HeadAblation without({{use, 3, 4}});
  EXPECT_THROW(layer().forward(x, causal(), pass), Error);
}

}  // namespace qkv::head_ablation_test
