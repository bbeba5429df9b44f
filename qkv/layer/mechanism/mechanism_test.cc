// The effects of single mechanisms in a layer.
#include <map>

#include <gtest/gtest.h>

#include "qkv/attention/mask/causal.h"
#include "qkv/attention/mask/padding.h"
#include "qkv/base/error.h"
#include "qkv/layer/attention_layer_test.h"
#include "qkv/layer/attention_variant_text.h"

namespace qkv::mechanism_test {

using namespace test;

Tensor weights_of(const AttentionVariant& variant, int64_t length, AttentionUse use = AttentionUse::encoder) {
  MultiHeadAttention layer = layer_of(options_of(variant, use));
  AttentionLog log;
  Pass pass{.log = &log};
  const Tensor x = random_tensor({1, length, 16}, 9);
  layer.forward(x, use == AttentionUse::decoder ? causal() : MaskPtr(), pass);
  return log.entries.at(0).weights;
}

TEST(AttentionMechanisms, AWindowMasksDistantKeys) {
  const Tensor weights = weights_of(SlidingWindow{2}, 10);
  for (int64_t i = 0; i < 10; ++i)
    for (int64_t j = 0; j < 10; ++j)
      EXPECT_EQ(weights.at<float>({0, 3, i, j}) > 0, std::abs(i - j) <= 2) << i << " " << j;
}

TEST(AttentionMechanisms, StridedIsBidirectionalInAnEncoderAndCausalInADecoder) {
  const Tensor both = weights_of(Strided{3}, 12), back = weights_of(Strided{3}, 12, AttentionUse::decoder);
  for (int64_t i = 0; i < 12; ++i)
    for (int64_t j = 0; j < 12; ++j) {
      const bool sees = std::abs(i - j) < 3 || std::abs(i - j) % 3 == 0;
      EXPECT_EQ(both.at<float>({0, 0, i, j}) > 0, sees);
      EXPECT_EQ(back.at<float>({0, 0, i, j}) > 0, sees && j <= i);
    }
}

TEST(AttentionMechanisms, ASinkTakesAPartOfTheWeights) {
  const Tensor weights = weights_of(SoftmaxWithSink{}, 4);
  double sum = 0;
  for (int64_t j = 0; j < 4; ++j) sum += weights.at<float>({0, 0, 1, j});
  EXPECT_GT(sum, 0.3);
  EXPECT_LT(sum, 0.95);
}

// With copies of the other projections, longformer-separate equals longformer.
TEST(AttentionMechanisms, SeparateProjectionsAreThoseOfGlobalRows) {
  MultiHeadAttention plain = layer_of(options_of(Longformer{2, 2}, AttentionUse::encoder));
  MultiHeadAttention separate = layer_of(options_of(LongformerSeparate{2, 2}, AttentionUse::encoder));
  std::map<std::string, Tensor> values;
  plain.visit("", [&](const std::string& name, Variable& p) { values[name] = p.value(); });
  const std::string prefix = "longformer-separate.";
  separate.visit("", [&](const std::string& name, Variable& p) {
    p.mutable_value().copy_from(values.at(name.starts_with(prefix) ? name.substr(prefix.size()) : name));
  });
  const Tensor x = random_tensor({2, 9, 16}, 10);
  Pass pass;
  const auto run = [&](const MultiHeadAttention& layer) { return layer.forward(x, padding({9, 5}), pass).value(); };
  EXPECT_LT(largest_difference(run(separate), run(plain)), 1e-6);
  separate.visit("", [&](const std::string& name, Variable& p) {
    if (name.starts_with(prefix + "key")) p.mutable_value().copy_from(random_tensor(p.shape(), 11));
  });
  const Tensor changed = run(separate), before = run(plain);
  EXPECT_GT(largest_difference(changed.slice(1, 0, 2), before.slice(1, 0, 2)), 1e-2) << "global rows";
  EXPECT_LT(largest_difference(changed.slice(1, 2, 9), before.slice(1, 2, 9)), 1e-6) << "all others";
}

// As initialised, multi-token attention has the weights of attention.
TEST(AttentionMechanisms, MultiTokenIsInitialisedAsAttention) {
  const auto weights = [](const AttentionVariant& variant) {
    MultiHeadAttention layer(options_of(variant, AttentionUse::encoder));
    layer.initialise("layer", 1);
    AttentionLog log;
    Pass pass{.log = &log};
    layer.forward(random_tensor({2, 9, 16}, 12), padding({9, 5}), pass);
    return log.entries.at(0).weights;
  };
  EXPECT_LT(largest_difference(weights(MultiToken{.queries = 4, .keys = 5}), weights(Full{})), 1e-6);
}

TEST(AttentionMechanisms, NameTheirParametersAfterThoseOfTheLayer) {
  MultiHeadAttention layer(options_of(Additive{} + Rotary{} + SoftmaxWithSink{}, AttentionUse::encoder));
  const std::vector<std::string> names = names_of(layer, "a");
  EXPECT_EQ(std::vector<std::string>(names.begin() + 8, names.end()),
            (std::vector<std::string>{"a.additive.query", "a.additive.key", "a.additive.score",
                                      "a.softmax-with-sink.scores"}));
  MultiHeadAttention fused({.d_model = 4, .heads = 2, .kv_heads = 1, .fused_qkv = true});
  EXPECT_EQ(names_of(fused, ""),
            (std::vector<std::string>{"query_key_value.weight", "query_key_value.bias", "out.weight", "out.bias"}));
  EXPECT_EQ(fused.projection.query_key_value.weight.shape(), (Shape{8, 4}));
}

// The first keys of the variant's masks stay visible; a decoder stays causal.
TEST(AttentionMechanisms, APrefixIsVisibleBesideTheOtherMasks) {
  for (const AttentionVariant& variant : {SlidingWindow{1} + Prefix{2}, Prefix{2} + SlidingWindow{1}}) {
    const Tensor both = weights_of(variant, 9), back = weights_of(variant, 9, AttentionUse::decoder);
    for (int64_t i = 0; i < 9; ++i)
      for (int64_t j = 0; j < 9; ++j) {
        const bool sees = std::abs(i - j) <= 1 || j < 2;
        EXPECT_EQ(both.at<float>({0, 0, i, j}) > 0, sees) << to_string(variant) << " " << i << " " << j;
        EXPECT_EQ(back.at<float>({0, 0, i, j}) > 0, sees && j <= i) << to_string(variant) << " " << i << " " << j;
      }
  }
}

TEST(AttentionMechanisms, ConstantAveragesTheVisibleKeys) {
  const Tensor weights = weights_of(SlidingWindow{1} + Constant{}, 9);
  EXPECT_FLOAT_EQ(weights.at<float>({0, 1, 0, 1}), 1.0f / 2);
  EXPECT_FLOAT_EQ(weights.at<float>({0, 1, 4, 5}), 1.0f / 3);
  EXPECT_EQ(weights.at<float>({0, 1, 4, 6}), 0.0f);
}

TEST(AttentionMechanisms, DotHasAnyScale) {
  const Tensor x = random_tensor({2, 9, 16}, 14);
  Pass pass;
  const auto run = [&](const AttentionVariant& variant) {
    return layer_of(options_of(variant, AttentionUse::encoder)).forward(x, {}, pass).value();
  };
  EXPECT_LT(largest_difference(run(Dot{.scale = 0.5}), run(Full{})), 1e-6);  // 1 / sqrt(D), D = 4
  EXPECT_GT(largest_difference(run(Dot{.scale = 0.25}), run(Full{})), 1e-3);
}

TEST(AttentionMechanisms, DotIsScaledDotWithoutTheScale) {
  MultiHeadAttention scaled = layer_of(options_of(Full{}, AttentionUse::encoder));
  MultiHeadAttention dot = layer_of(options_of(Dot{}, AttentionUse::encoder));
  for (float& x : dot.projection.query.weight.mutable_value().span<float>()) x /= 2;  // sqrt(D), D = 4
  for (float& x : dot.projection.query.bias.mutable_value().span<float>()) x /= 2;
  const Tensor x = random_tensor({2, 9, 16}, 14);
  Pass pass;
  EXPECT_LT(largest_difference(dot.forward(x, {}, pass).value(), scaled.forward(x, {}, pass).value()), 1e-6);
}

// A projection that nothing reads would never get a gradient.
TEST(AttentionMechanisms, NoProjectionIsLeftWithoutAGradient) {
  const auto projections = [](const AttentionVariant& variant) {
    std::string names;
    MultiHeadAttention layer(options_of(variant, AttentionUse::encoder));
    for (const std::string& name : names_of(layer, ""))
      if (name.ends_with("weight")) names += name.substr(0, name.find('.')) + " ";
    return names;
  };
  EXPECT_EQ(projections(Full{}), "query key value out ");
  EXPECT_EQ(projections(Location{7}), "query value out ");
  EXPECT_EQ(projections(Constant{}), "value out ");
}

TEST(AttentionLog, RecordsOneAttentionAloneAndItsMean) {
  MultiHeadAttentionOptions options = options_of(SlidingWindow{2}, AttentionUse::encoder);
  const Tensor x = random_tensor({2, 9, 16}, 15);
  const auto record = [&](const MultiHeadAttention& layer, AttentionLog log) {
    const NoGrad guard;
    Pass pass{.log = &log};
    layer.forward(x, padding({9, 4}), pass);
    return log;
  };
  options.layer = 3;
  const AttentionLog all = record(layer_of(options), {});
  EXPECT_TRUE(record(layer_of(options), {.only = {{AttentionUse::encoder, 2}}}).entries.empty());
  EXPECT_TRUE(record(layer_of(options), {.only = {{AttentionUse::cross, 3}}}).entries.empty());
  EXPECT_THROW(all.weights(AttentionUse::encoder, 2), Error);
  for (const AttentionVariant& variant : std::vector<AttentionVariant>{
           SlidingWindow{2}, MultiToken{.queries = 3, .keys = 3, .heads = 2}, LongformerSeparate{2, 2}}) {
    options.variant = variant;
    const MultiHeadAttention layer = layer_of(options);
    const Tensor weights = record(layer, {}).weights(AttentionUse::encoder, 3);
    const AttentionLog log = record(layer, {.only = {{AttentionUse::encoder, 3}}, .mean_over_heads = true});
    const Tensor& mean = log.weights(AttentionUse::encoder, 3);
    ASSERT_EQ(mean.shape(), (Shape{2, 9, 9}));
    for (int64_t i = 0; i < 9; ++i)
      for (int64_t j = 0; j < 9; ++j) {
        float sum = 0;
        for (int64_t h = 0; h < 4; ++h) sum += weights.at<float>({1, h, i, j});
        EXPECT_NEAR(mean.at<float>({1, i, j}), sum / 4, 1e-6) << to_string(variant);
      }
  }
}

TEST(AttentionMechanisms, ErrorsSayWhatIsWrong) {
  EXPECT_THROW(MultiHeadAttention({.d_model = 4, .fused_qkv = true, .use = AttentionUse::cross}), Error);
  EXPECT_THROW(MultiHeadAttention({.d_model = 4, .fused_qkv = true, .variant = LongformerSeparate{2, 2}}), Error);
  EXPECT_THROW(MultiHeadAttention({.d_model = 4, .variant = LocalP{}}), UsageError);
  const MultiHeadAttention fused({.d_model = 4, .fused_qkv = true});
  const Tensor x = random_tensor({1, 3, 4}, 13);
  Pass pass;
  EXPECT_THROW(fused.forward(x, x, x, {}, pass), Error);
}

}  // namespace qkv::mechanism_test
