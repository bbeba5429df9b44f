#include "qkv/train/summary.h"

#include <gtest/gtest.h>

#include "qkv/base/names.h"
#include "qkv/layer/attention_pattern.h"

namespace qkv::summary_test {

TEST(Summary, HasTheAttentionOfAModelThatIsNotTheUsualOne) {
  TrainOptions o;
  EXPECT_EQ(settings_summary(o, {})[0].find("attention"), std::string::npos);
  TransformerConfig& config = o.architecture.transformer();
  config.architecture = Architecture::causal;
  config.positions = Positions::none;
  config.self_attention = SelfAttention(AttentionPattern(), attention_pattern("rotary"));
  const std::string text = name_list(settings_summary(o, {}), " ");
  EXPECT_NE(text.find("self-attention rotary"), std::string::npos) << text;
  EXPECT_EQ(text.find("positions none"), std::string::npos) << text;
}

TEST(Summary, FitsTheTerminal) {
  TrainOptions o;
  o.init = "a-published-model";
  TransformerConfig& config = o.architecture.transformer();
  config.norm_kind = NormKind::rms;
  config.gated_ffn = true;
  config.kv_heads = 2;
  config.head_width = 24;
  config.activation = Activation::silu;
  const std::vector<std::string> lines = settings_summary(o, {.last_update = 100});
  for (const std::string& line : lines) EXPECT_LE(line.size(), 98u) << line;
  EXPECT_TRUE(lines[1].starts_with("             ")) << lines[1];
}

}  // namespace qkv::summary_test
