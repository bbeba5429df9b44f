#include "qkv/layer/attention_variant.h"

#include <functional>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/attention_variant_text.h"

namespace qkv::attention_variant_test {

std::string error(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

std::string error_in_layer(const AttentionVariant& variant, const AttentionSize& size) {
  return error([&] { check_variant(variant, size, "there"); });
}

TEST(AttentionVariant, HasTheMechanismsThatItIsMadeOf) {
  const AttentionVariant variant = SlidingWindow{64} + Softcap{30} + Rotary{.base = 1e5};
  ASSERT_EQ(variant.mechanisms().size(), 3u);
  ASSERT_NE(variant.get<SlidingWindow>(), nullptr);
  EXPECT_EQ(variant.get<SlidingWindow>()->radius, 64);
  EXPECT_EQ(variant.get<Softcap>()->cap, 30);
  EXPECT_EQ(variant.get<Rotary>()->base, 1e5);
  EXPECT_EQ(variant.get<Alibi>(), nullptr);
  EXPECT_EQ(variant.get<LongformerSeparate>(), nullptr);
  EXPECT_TRUE(variant.has(AttentionMechanism::Role::mask));
  EXPECT_TRUE(AttentionVariant(Full{}).mechanisms().empty());
  EXPECT_EQ(Full{} + Alibi{}, AttentionVariant(Alibi{}));
}

TEST(AttentionVariant, IsEqualByValue) {
  EXPECT_EQ(AttentionVariant(), Full{});
  EXPECT_EQ(SlidingWindow{64} + Softcap{}, SlidingWindow{64} + Softcap{50});
  EXPECT_NE(SlidingWindow{64} + Softcap{}, SlidingWindow{64} + Softcap{30});
  EXPECT_NE(SlidingWindow{64} + Softcap{}, AttentionVariant(SlidingWindow{64}));
  EXPECT_NE(AttentionVariant(LocalM{5}), AttentionVariant(LocalP{5}));
  EXPECT_NE(Softcap{} + Alibi{}, Alibi{} + Softcap{}) << "modifications are applied in their order";
}

TEST(AttentionVariant, ChecksNumbersAndCombinations) {
  EXPECT_EQ(error([] { AttentionVariant(SlidingWindow{-1}); }),
            "attention variant: 'window=-1': radius must be an integer from 0 to 16777216, got '-1'");
  EXPECT_EQ(error([] { AttentionVariant(Gaussian{}); }),
            "attention variant: 'gaussian=0': sigma must be a number from 1e-06 to 1000000, got '0'");
  EXPECT_EQ(error([] { AttentionVariant(Softcap{std::numeric_limits<double>::quiet_NaN()}); }),
            "attention variant: 'softcap=nan': cap must be a number from 0.001 to 1000000, got 'nan'");
  EXPECT_EQ(error([] { SlidingWindow{3} + SlidingWindow{4}; }), "attention variant: 'window' is given twice");
  EXPECT_EQ(error([] { Rotary{} + Softcap{} + Alibi{}; }),
            "attention variant: 'rotary' and 'alibi' cannot be combined");
  EXPECT_EQ(error([] { Constant{} + Softcap{}; }),
            "attention variant: 'constant' and 'softcap' cannot be combined");
}

TEST(AttentionVariant, IsCheckedAgainstItsUseAndLayer) {
  const AttentionSize self = {.d_model = 12,
                              .heads = 4,
                              .kv_heads = 4,
                              .head_width = 3,
                              .query_width = 12,
                              .key_width = 12,
                              .value_width = 12};
  AttentionSize cross = self;
  cross.use = AttentionUse::cross;
  EXPECT_EQ(error_in_layer(SlidingWindow{3}, self), "");
  EXPECT_EQ(error_in_layer(SlidingWindow{3}, cross), "there: 'window' is for self attention only");
  EXPECT_EQ(error_in_layer(LocalP{}, self), "there: 'local-p' is for cross attention only");
  EXPECT_EQ(error_in_layer(LocalP{}, cross), "");
  EXPECT_EQ(error_in_layer(Rotary{}, self),
            "there: 'rotary': the width of a head must be even, got d-model 12 / heads 4 = 3");
  EXPECT_EQ(error_in_layer(BigBird{.block = 2, .window = 2}, self),
            "there: 'bigbird=2:2': window must be an odd number of blocks, got 2");
  EXPECT_EQ(error_in_layer(RelativeBias{6}, self), "");
  EXPECT_EQ(error_in_layer(RelativeBias{64, 32}, self),
            "there: 'relative-bias=64:32': max-distance must be more than half of the 64 buckets, got 32");
  EXPECT_EQ(error_in_layer(Prefix{2}, self),
            "there: 'prefix=2' needs another mask in the variant, as in window=64+prefix=4");
  EXPECT_EQ(error_in_layer(MultiToken{2, 4}, self), "there: 'multi-token=2:4': keys must be odd, got 4");
  EXPECT_EQ(error_in_layer(MultiToken{2, 3, 3}, self),
            "there: 'multi-token=2:3:3': heads must divide the 4 heads of the layer, got 3");
}

// The facts that MultiHeadAttention, describe, the parser and the help rely on.
TEST(AttentionMechanism, GivesAndTakesItsArguments) {
  using Argument = AttentionMechanism::Argument;
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms()) {
    std::vector<Argument::Value> values;
    for (const Argument& argument : mechanism->arguments())
      values.push_back(argument.default_value.value_or(argument.minimum));
    const AttentionMechanismPtr same = mechanism->with(values);
    ASSERT_EQ(same->arguments().size(), values.size());
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(same->argument(i), values[i]) << same->facts().name;
    EXPECT_EQ(same->facts().name, mechanism->facts().name);
    EXPECT_TRUE(same->equals(*mechanism->with(values)));
    for (const Argument& argument : mechanism->arguments())
      EXPECT_TRUE(!argument.default_value || argument.allows(*argument.default_value)) << argument.name;
  }
}

}  // namespace qkv::attention_variant_test
