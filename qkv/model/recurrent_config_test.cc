#include "qkv/model/recurrent_config.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/model/architecture_table.h"

namespace qkv::recurrent_config_test {

RecurrentConfig small(Architecture architecture) {
  return {.architecture = architecture, .source_vocabulary = 9, .target_vocabulary = 9, .d_model = 16};
}

// The error of check(), or "".
std::string error_of(const RecurrentConfig& config) {
  try {
    config.check();
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(RecurrentConfig, HasTheRowsThatAreNotForTransformersAlone) {
  std::vector<std::string> expected, rows;
  const TransformerConfig all;
  const RecurrentConfig own;
  visit_fields(all, [&](const Setting& setting, const auto&, const FieldUse& use) {
    if (has_field(use.models, Architecture::luong)) expected.push_back(setting.name);
  });
  visit_fields(own, [&](const Setting& setting, const auto&, const FieldUse&) { rows.push_back(setting.name); });
  EXPECT_EQ(rows, expected);
}

TEST(RecurrentConfig, TakesEveryFieldOfAConfiguration) {
  TransformerConfig from;
  from.architecture = Architecture::luong, from.source_vocabulary = 7, from.target_vocabulary = 8;
  from.d_model = 24, from.encoder_layers = 2, from.decoder_layers = 3;
  from.dropout = 0.25f, from.tie = Tie::target, from.cross_attention = Bilinear{};
  const RecurrentConfig c = recurrent_config(from);
  EXPECT_EQ(c.architecture, Architecture::luong);
  EXPECT_EQ(c.source_vocabulary, 7);
  EXPECT_EQ(c.target_vocabulary, 8);
  EXPECT_EQ(c.d_model, 24);
  EXPECT_EQ(c.encoder_layers, 2);
  EXPECT_EQ(c.decoder_layers, 3);
  EXPECT_EQ(c.dropout, 0.25f);
  EXPECT_EQ(c.tie, Tie::target);
  EXPECT_EQ(c.cross_attention, AttentionPattern(Bilinear{}));
  from.architecture = Architecture::causal;
  EXPECT_THROW(recurrent_config(from), UsageError);
}

TEST(RecurrentConfig, DefaultsAreThoseOfTheRecipes) {
  for (const char* name : {"bahdanau", "luong"}) {
    RecurrentConfig defaults;
    defaults.architecture = recipe(name).architecture;
    const RecurrentConfig made = recurrent_config(recipe(name));
    EXPECT_EQ(made.d_model, defaults.d_model) << name;
    EXPECT_EQ(made.encoder_layers, defaults.encoder_layers) << name;
    EXPECT_EQ(made.decoder_layers, defaults.decoder_layers) << name;
    EXPECT_EQ(made.dropout, defaults.dropout) << name;
    EXPECT_EQ(made.tie, defaults.tie) << name;
  }
}

TEST(RecurrentConfig, HasTheScoreOfThePaperUnlessAnotherIsGiven) {
  RecurrentConfig bahdanau = small(Architecture::bahdanau), luong = small(Architecture::luong);
  EXPECT_EQ(bahdanau.attention(), Additive{});
  EXPECT_EQ(luong.attention(), Dot{});
  EXPECT_EQ(bahdanau.encoder_width(), 32);
  EXPECT_EQ(luong.encoder_width(), 16);
  bahdanau.cross_attention = luong.cross_attention = LocalM{2};
  EXPECT_EQ(bahdanau.attention(), LocalM{2} + Additive{});
  EXPECT_EQ(luong.attention(), LocalM{2} + Dot{});
  luong.cross_attention = Bilinear{};
  EXPECT_EQ(luong.attention(), Bilinear{});
}

TEST(RecurrentConfig, ErrorsNameTheSetting) {
  EXPECT_EQ(error_of(small(Architecture::bahdanau)), "");
  EXPECT_EQ(error_of(small(Architecture::luong)), "");
  struct Case {
    void (*change)(RecurrentConfig&);
    const char* expected;
  };
  for (const Case& bad : {
           Case{[](RecurrentConfig& c) { c.d_model = 0; }, "d-model must be 1 to 16777216, got 0"},
           Case{[](RecurrentConfig& c) { c.dropout = 1; }, "dropout must be at least 0 and less than 1, got 1"},
           Case{[](RecurrentConfig& c) { c.target_vocabulary = 8; }, "tie all needs one vocabulary"},
           Case{[](RecurrentConfig& c) { c.decoder_layers = 2; }, "decoder of a bahdanau model has 1 layer"},
           Case{[](RecurrentConfig& c) { c.architecture = Architecture::luong, c.encoder_layers = 2; },
                "as many encoder-layers as decoder-layers, got 2 and 1"},
           Case{[](RecurrentConfig& c) { c.cross_attention = Dot{}; }, "additive, bilinear or location, got dot"},
           Case{[](RecurrentConfig& c) { c.cross_attention = SlidingWindow{3}; }, "cross-attention: "},
       }) {
    RecurrentConfig c = small(Architecture::bahdanau);
    bad.change(c);
    EXPECT_NE(error_of(c).find(bad.expected), std::string::npos) << error_of(c) << "\n" << bad.expected;
  }
}

}  // namespace qkv::recurrent_config_test
