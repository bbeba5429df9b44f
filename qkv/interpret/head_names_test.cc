#include "qkv/interpret/head_names.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::head_names_test {

using enum AttentionUse;

TransformerConfig pairs() {
  TransformerConfig c;
  c.encoder_layers = 2, c.decoder_layers = 3, c.heads = 4, c.decoder_heads = 2;
  return c;
}

std::vector<AttentionHead> together(std::string_view text, const ModelConfig& config) {
  const std::vector<NamedHeads> groups = heads_named(text, config, "test");
  EXPECT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].name, text);
  return groups[0].heads;
}

TEST(HeadNames, AListIsItsHeadsTogetherEachOnce) {
  EXPECT_EQ(together("decoder.2.cross.1", pairs()), (std::vector<AttentionHead>{{cross, 2, 1}}));
  EXPECT_EQ(together("decoder.2.self,encoder.1.self.3", pairs()),
            (std::vector<AttentionHead>{{decoder, 2, 0}, {decoder, 2, 1}, {encoder, 1, 3}}));
  EXPECT_EQ(together("encoder.1.self.3,encoder.1.self", pairs()).size(), 4u);
}

TEST(HeadNames, AllAndLayersAreEachHeadAndEachLayerInTurn) {
  const std::vector<NamedHeads> all = heads_named("all", pairs(), "test"),
                                layers = heads_named("layers", pairs(), "test");
  EXPECT_EQ(all.size(), 2u * 4 + 3 * 2 * 2);
  for (const NamedHeads& one : all) {
    ASSERT_EQ(one.heads.size(), 1u);
    EXPECT_EQ(together(one.name, pairs()), one.heads);
  }
  ASSERT_EQ(layers.size(), 2u + 3 * 2);
  for (const NamedHeads& layer : layers) EXPECT_EQ(together(layer.name, pairs()), layer.heads);
}

TEST(HeadNames, AreThoseOfTheArchitecture) {
  TransformerConfig causal = pairs(), masked = pairs();
  causal.architecture = Architecture::causal;
  masked.architecture = Architecture::masked;
  EXPECT_EQ(heads_named("layers", causal, "test")[0].name, "decoder.0.self");
  EXPECT_EQ(heads_named("layers", masked, "test")[0].name, "encoder.0.self");
  const std::vector<NamedHeads> recurrent = heads_named("all", recipe("luong"), "test");
  ASSERT_EQ(recurrent.size(), 1u);
  EXPECT_EQ(recurrent[0].name, "decoder.0.cross.0");
  EXPECT_THROW(heads_named("decoder.0.cross.0", causal, "test"), UsageError);
}

TEST(HeadNames, WhatIsNoHeadIsAnErrorThatSaysWhatTheModelHas) {
  for (const std::string text : {"", "decoder.3.cross", "decoder.0.cross.2", "encoder.0.cross.0", "decoder.0.self,",
                                 "decoder.00.self.0", "decoder.0", "head 3"})
    try {
      heads_named(text, pairs(), "qkv inspect: --ablate");
      ADD_FAILURE() << text;
    } catch (const UsageError& e) {
      EXPECT_NE(std::string(e.what()).find("decoder.0.cross.0 to decoder.2.cross.1"), std::string::npos)
          << e.what();
    }
}

}  // namespace qkv::head_names_test
