#include "qkv/op/rotary_scaling.h"

#include <cmath>
#include <numbers>

#include "qkv/test_support/gradient_check.h"

namespace qkv::rotary_scaling_test {

using namespace test;
using enum RotaryScalingType;

void expect_frequencies(const RotaryFrequencies& given, const std::vector<double>& frequencies, double multiplier,
                        double tolerance) {
  ASSERT_EQ(given.frequencies.size(), frequencies.size());
  for (size_t c = 0; c < frequencies.size(); ++c)
    EXPECT_NEAR(given.frequencies[c], frequencies[c], tolerance * frequencies[c]) << "pair " << c;
  EXPECT_NEAR(given.multiplier, multiplier, 1e-12);
}

// The numbers of transformers 5.23 (modeling_rope_utils.py), which computes in f32, with these parameters; max
// positions are `factor` times the original ones.
TEST(RotaryScaling, HasTheFrequenciesOfPublishedModels) {
  const auto expect = [](double base, int64_t width, const RotaryScaling& scaling, const std::vector<double>& f,
                         double m = 1) {
    SCOPED_TRACE(name_of(scaling.type));
    expect_frequencies(rotary_frequencies(base, width, scaling), f, m, 2e-6);
  };
  expect(10000, 8, {.type = linear, .factor = 4}, {0.25, 0.025, 0.0025, 0.00025});
  expect(10000, 8, {.type = dynamic, .factor = 2, .original_positions = 2048, .length = 6000},
         {1.0, 0.05903911590576172, 0.003485617460682988, 0.0002057877863990143});
  expect(500000, 16, {.type = llama3, .factor = 8, .original_positions = 8192},
         {1.0, 0.193922758102417, 0.03760603070259094, 0.00729266507551074, 0.0005248460220173001,
          3.428102354519069e-05, 6.647869668086059e-06, 1.289173155782919e-06});
  expect(10000, 16, {.type = yarn, .factor = 4, .original_positions = 4096},
         {1.0, 0.3162277638912201, 0.1, 0.025693506002426147, 0.00625, 0.0013834965648129582, 0.00025,
          7.905694656074047e-05},
         1.138629436111989);
  expect(10000, 16,
         {.type = yarn,
          .factor = 40,
          .original_positions = 4096,
          .beta_fast = 16,
          .beta_slow = 2,
          .truncate = false,
          .mscale = 0.707,
          .mscale_all_dim = 1},
         {1.0, 0.3162277638912201, 0.1, 0.03162277862429619, 0.005790104623883963, 0.00012395245721563697, 2.5e-05,
          7.905694474175107e-06},
         0.9210423553163399);
  RotaryScaling phi = {.type = longrope,
                       .factor = 32,
                       .original_positions = 4096,
                       .length = 4097,
                       .short_factors = {1, 1.1, 1.2, 1.3},
                       .long_factors = {1, 2.5, 8, 32}};
  expect(10000, 8, phi, {1.0, 0.04, 0.00125, 3.125e-05}, 1.1902380714238083);
  phi.length = 4096;
  expect(10000, 8, phi, {1.0, 0.09090909361839294, 0.00833333283662796, 0.0007692307699471712}, 1.1902380714238083);
  phi.attention_factor = 1.5;
  expect(10000, 8, phi, {1.0, 0.09090909361839294, 0.00833333283662796, 0.0007692307699471712}, 1.5);
  expect_frequencies(rotary_frequencies(10000, 8, {.type = proportional, .factor = 2}, 16),
                     {0.5, 0.15811388194561005, 0.05, 0.015811389312148094, 0, 0, 0, 0}, 1, 2e-6);
}

// As in the source of Llama 3: by wavelengths.
TEST(RotaryScaling, Llama3InterpolatesLongWavelengths) {
  const RotaryScaling scaling = {.type = llama3,
                                 .factor = 32,
                                 .original_positions = 1000,
                                 .low_frequency_factor = 2,
                                 .high_frequency_factor = 5};
  std::vector<double> expected;
  for (int64_t c = 0; c < 32; ++c) {
    const double f = std::pow(10000.0, -2.0 * static_cast<double>(c) / 64), wavelength = 2 * std::numbers::pi / f;
    const double smooth = (1000 / wavelength - 2) / (5 - 2);
    expected.push_back(wavelength < 1000.0 / 5   ? f
                       : wavelength > 1000.0 / 2 ? f / 32
                                                 : (1 - smooth) * f / 32 + smooth * f);
  }
  expect_frequencies(rotary_frequencies(10000, 64, scaling), expected, 1, 1e-13);
}

TEST(RotaryScaling, AFactorOfOneChangesNothing) {
  const std::vector<double> plain = rotary_frequencies(10000, 16).frequencies;
  for (const RotaryScaling& scaling : {RotaryScaling{.type = linear},
                                       {.type = llama3, .original_positions = 100},
                                       {.type = yarn, .original_positions = 100},
                                       {.type = dynamic, .factor = 7, .original_positions = 100, .length = 100},
                                       {.type = longrope,
                                       .original_positions = 100,
                                       .length = 200,
                                       .short_factors = std::vector<double>(8, 3.0),
                                       .long_factors = std::vector<double>(8, 1.0)},
                                       {.type = proportional}})
    expect_frequencies(rotary_frequencies(10000, 16, scaling), plain, 1, 1e-14);
}

TEST(RotaryScaling, RejectsSettingsThatAreMissingOrNotRead) {
  const auto error = [](const RotaryScaling& scaling, int64_t width = 8) {
    return rotary_scaling_error(10000, width, scaling);
  };
  EXPECT_EQ(error({}), "");
  EXPECT_EQ(error({.factor = 2}),
            "factor is for the scaling linear, dynamic, llama3, yarn, longrope, proportional, got none");
  EXPECT_EQ(error({.type = linear, .beta_fast = 3}), "beta-fast is for the scaling yarn, got linear");
  EXPECT_EQ(error({.type = yarn, .factor = 2}),
            "the scaling yarn needs original-positions, the length of the first training, got 0");
  EXPECT_EQ(error({.type = dynamic, .factor = 2, .original_positions = 100}), "") << "n is that of a sequence";
  EXPECT_EQ(error_of([] { rotary_frequencies(1e4, 8, {.type = dynamic, .factor = 2, .original_positions = 100}); }),
            "rotary_frequencies: the scaling dynamic needs length, the length of the longest sequence");
  EXPECT_EQ(error({.type = dynamic, .factor = 2, .original_positions = 100, .length = 200}, 2),
            "the scaling dynamic needs a width of more than 2 columns, got 2");
  EXPECT_EQ(error({.type = llama3, .original_positions = 100, .low_frequency_factor = 4}),
            "low-frequency-factor must be less than high-frequency-factor, got 4 and 4");
  EXPECT_EQ(error({.type = longrope,
                   .original_positions = 100,
                   .length = 200,
                   .short_factors = {1, 2},
                   .long_factors = {1, 2, 3, 4}}),
            "short must have a factor for each of the 4 pairs of columns, got 2");
  EXPECT_EQ(
      error_of([] { rotary_frequencies(10000, 8, {.type = yarn}); }),
      "rotary_frequencies: the scaling yarn needs original-positions, the length of the first training, got 0");
  EXPECT_EQ(error_of([] { rotary_frequencies(10000, 7); }),
            "rotary_frequencies: the width must be even and positive, got 7");
}

}  // namespace qkv::rotary_scaling_test
