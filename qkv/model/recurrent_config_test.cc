#include "qkv/model/recurrent_config.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/model/architecture_table.h"
#include "qkv/model/transformer_config.h"

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
           Case{[](RecurrentConfig& c) { c.architecture = Architecture::causal; }, "has a TransformerConfig"},
           Case{[](RecurrentConfig& c) { c.target_vocabulary = 8; }, "tie all needs one vocabulary"},
           Case{[](RecurrentConfig& c) { c.decoder_layers = 2; }, "decoder of a bahdanau model has 1 layer"},
           Case{[](RecurrentConfig& c) { c.architecture = Architecture::luong, c.encoder_layers = 2; },
                "as many encoder-layers as decoder-layers, got 2 and 1"},
           Case{[](RecurrentConfig& c) { c.cross_attention = Dot{}; }, "additive, bilinear or location, got dot"},
           Case{[](RecurrentConfig& c) { c.cross_attention = SlidingWindow{3}; }, "cross-attention: "},
           Case{[](RecurrentConfig& c) {
                  c.cross_attention = {{Additive{}, 1}, {Bilinear{}, 1}};
                },
                "one variant"},
       }) {
    RecurrentConfig c = small(Architecture::bahdanau);
    bad.change(c);
    EXPECT_NE(error_of(c).find(bad.expected), std::string::npos) << error_of(c) << "\n" << bad.expected;
  }
}

}  // namespace qkv::recurrent_config_test
