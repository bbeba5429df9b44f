#include "qkv/layer/mechanism/rotary.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/layer/attention_variant_text.h"
#include "qkv/layer/mechanism/optional.h"
#include "qkv/op/rotary.h"
#include "qkv/test_support/tensors.h"

namespace qkv::rotary_test {

using namespace test;

const RotaryScaling yarn4 = {.type = RotaryScalingType::yarn, .factor = 4, .original_positions = 16};

Variable rotate(const AttentionMechanismPtr& mechanism, const Variable& heads, int64_t first_position) {
  return dynamic_cast<const RotatesHeads&>(*mechanism).rotate(heads, first_position);
}

TEST(RotaryMechanism, RotatesByItsScaling) {
  const Tensor heads = random_tensor({2, 3, 5, 8}, 1);
  const RotaryFrequencies f = rotary_frequencies(100, 6, yarn4);
  const Variable expected = rotary(
      heads,
      {.interleaved = true, .offset = 7, .width = 6, .frequencies = f.frequencies, .multiplier = f.multiplier});
  const AttentionMechanismPtr mechanism =
      mechanism_of(Rotary{.base = 100, .width = 6, .interleaved = true, .scaling = yarn4});
  EXPECT_TRUE(same_bits(rotate(mechanism, heads, 7).value(), expected.value()));
  EXPECT_TRUE(same_bits(rotate(mechanism_of(Rotary{.base = 100}), heads, 7).value(),
                        rotary(heads, {.base = 100, .offset = 7}).value()));
}

// Columns c and c + D/2 are a pair also where only some pairs are rotated.
TEST(RotaryMechanism, ProportionalRotatesPairsOfTheWholeHead) {
  const Tensor x = random_tensor({1, 1, 4, 8}, 1);
  const AttentionMechanismPtr mechanism =
      mechanism_of(Rotary{.base = 100, .width = 4, .scaling = {.type = RotaryScalingType::proportional}});
  const Tensor y = rotate(mechanism, x, 0).value();
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t c = 0; c < 4; ++c) {
      const double angle = c < 2 ? static_cast<double>(i) * std::pow(100.0, -2.0 * static_cast<double>(c) / 8) : 0;
      const double a = x.at<float>({0, 0, i, c}), b = x.at<float>({0, 0, i, c + 4});
      EXPECT_NEAR(y.at<float>({0, 0, i, c}), a * std::cos(angle) - b * std::sin(angle), 1e-6);
      EXPECT_NEAR(y.at<float>({0, 0, i, c + 4}), b * std::cos(angle) + a * std::sin(angle), 1e-6);
    }
}

TEST(RotaryMechanism, IsReadAndWrittenAsText) {
  using enum RotaryScalingType;
  const std::vector<std::pair<const char*, Rotary>> same = {
      {"rotary=500000:64", {.base = 5e5, .width = 64}},
      {"rotary=10000:32:interleaved=true", {.width = 32, .interleaved = true}},
      {"rotary=scaling=linear:factor=2.5", {.scaling = {.type = linear, .factor = 2.5}}},
      {"rotary=scaling=dynamic:factor=2:original-positions=2048:length=8192",
       {.scaling = {.type = dynamic, .factor = 2, .original_positions = 2048, .length = 8192}}},
      {"rotary=500000:scaling=llama3:factor=32:original-positions=8192:low-frequency-factor=2:high-frequency-"
       "factor=8",
       {.base = 5e5,
        .scaling = {.type = llama3,
                    .factor = 32,
                    .original_positions = 8192,
                    .low_frequency_factor = 2,
                    .high_frequency_factor = 8}}},
      {"rotary=scaling=yarn:factor=40:original-positions=4096:attention-factor=1.5:beta-fast=16:beta-slow=2:"
       "truncate=false:mscale=0.707:mscale-all-dim=1",
       {.scaling = {.type = yarn,
                    .factor = 40,
                    .original_positions = 4096,
                    .attention_factor = 1.5,
                    .beta_fast = 16,
                    .beta_slow = 2,
                    .truncate = false,
                    .mscale = 0.707,
                    .mscale_all_dim = 1}}},
      {"rotary=10000:4:scaling=longrope:factor=32:original-positions=4096:length=131072:short=1/1.0299999713897705:"
       "long=1.5/64",
       {.width = 4,
        .scaling = {.type = longrope,
                    .factor = 32,
                    .original_positions = 4096,
                    .length = 131072,
                    .short_factors = {1, 1.0299999713897705},
                    .long_factors = {1.5, 64}}}},
      {"rotary=1000000:128:scaling=proportional", {.base = 1e6, .width = 128, .scaling = {.type = proportional}}}};
  for (const auto& [text, rotary] : same) {
    EXPECT_EQ(to_string(AttentionVariant(rotary)), text);
    ASSERT_NE(attention_variant(text).get<Rotary>(), nullptr);
    EXPECT_EQ(*attention_variant(text).get<Rotary>(), rotary) << text;
  }
  EXPECT_EQ(to_string(attention_variant("rotary=width=64:base=10000:interleaved=false")), "rotary=10000:64");
}

TEST(RotaryMechanism, IsCheckedAgainstTheWidthOfAHead) {
  const auto error = [](const Rotary& rotary, int64_t head_width) {
    return mechanism_of(rotary)->error({.d_model = 12, .heads = 4, .kv_heads = 4, .head_width = head_width});
  };
  EXPECT_EQ(error({}, 8), "");
  EXPECT_EQ(error({.width = 2}, 3), "");
  EXPECT_EQ(error({}, 3), "the width of a head must be even, got d-model 12 / heads 4 = 3");
  EXPECT_EQ(error({}, 5), "the width of a head must be even, got head-width 5");
  EXPECT_EQ(error({.width = 10}, 8), "width must be even and at most that of a head, 8, got 10");
  EXPECT_EQ(error({.width = 3}, 8), "width must be even and at most that of a head, 8, got 3");
  EXPECT_EQ(error({.scaling = {.type = RotaryScalingType::yarn}}, 8),
            "the scaling yarn needs original-positions, the length of the first training, got 0");
}

TEST(RotaryMechanism, WithoutALengthHasTheAnglesOfTheSequence) {
  const Variable x = random_tensor({1, 2, 12, 8}, 1);
  const auto rotated = [&](const RotaryScaling& scaling, int64_t first) {
    return rotate(mechanism_of(Rotary{.scaling = scaling}), x, first).value();
  };
  RotaryScaling scaling = {.type = RotaryScalingType::dynamic, .factor = 4, .original_positions = 8};
  const Tensor whole = rotated(scaling, 0), later = rotated(scaling, 20);
  scaling.length = 12;
  EXPECT_TRUE(same_bits(whole, rotated(scaling, 0)));
  scaling.length = 32;
  EXPECT_TRUE(same_bits(later, rotated(scaling, 20)));
  RotaryScaling longrope = {.type = RotaryScalingType::longrope,
                            .original_positions = 16,
                            .short_factors = {1, 1, 1, 1},
                            .long_factors = {2, 2, 2, 2}};
  EXPECT_TRUE(same_bits(rotated(longrope, 17), rotated(longrope, 17)));
  EXPECT_THROW(rotated(longrope, 8), InputError) << "12 positions after 8 cached ones, which had other angles";
}

TEST(RotaryMechanism, CachedKeysOfLongRopeAreValidUntilTheLengthOfItsTraining) {
  RotaryScaling scaling = {.type = RotaryScalingType::longrope, .factor = 4, .original_positions = 8};
  EXPECT_EQ(mechanism_of(Rotary{.scaling = scaling})->cache_valid_until(), 8);
  const AttentionVariant variant = Rotary{.scaling = scaling};
  EXPECT_EQ(variant.cache_valid_until(), 8);
  scaling.length = 40;
  EXPECT_EQ(mechanism_of(Rotary{.scaling = scaling})->cache_valid_until(), std::nullopt);
  EXPECT_EQ(mechanism_of(Rotary{.scaling = yarn4})->cache_valid_until(), std::nullopt);
  EXPECT_EQ(AttentionVariant().cache_valid_until(), std::nullopt);
}

}  // namespace qkv::rotary_test
