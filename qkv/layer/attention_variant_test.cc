#include "qkv/layer/attention_variant.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/attention_mechanisms_test.h"

namespace qkv {
namespace {

// What is wrong with a text, or "".
std::string error(const std::string& text) {
  try {
    attention_variant(text, "--self-attention");
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

std::string error_in_layer(const std::string& text, const AttentionSize& size) {
  try {
    check_variant(attention_variant(text), size, "there");
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(AttentionVariant, IsReadAndWritten) {
  for (const char* text : {"full", "window=64", "window=64+softcap=30", "bigbird=8:3:1:2", "longformer=64:4+rotary",
                           "additive=256", "additive", "gaussian=1.5", "local-p=5+softmax-with-sink",
                           "multi-token=3:5:2", "dot", "constant", "window=64+prefix=4"})
    EXPECT_EQ(to_string(attention_variant(text)), text);
  for (const AttentionMechanism& mechanism : attention_mechanisms()) {
    const std::string text = to_string(attention_variant(sample_of(mechanism)));
    EXPECT_EQ(to_string(attention_variant(text)), text) << "once written, always the same";
  }
  EXPECT_EQ(to_string(attention_variant("softcap=50+additive=0")), "softcap+additive") << "defaults are left out";
  EXPECT_EQ(to_string(attention_variant("bigbird=8")), "bigbird=8");
  EXPECT_EQ(attention_variant("bigbird=8").parts()[0].numbers, (std::vector<double>{8, 3, 1, 3}));
  EXPECT_TRUE(attention_variant("full").parts().empty());
}

TEST(AttentionVariant, ErrorsNameTheMechanismAndWhatWasExpected) {
  EXPECT_NE(error("widow=64").find("--self-attention: unknown mechanism 'widow', must be one of full, window, "),
            std::string::npos);
  EXPECT_TRUE(error("widow=64").ends_with("; did you mean window?")) << error("widow=64");
  EXPECT_NE(error("").find("unknown mechanism ''"), std::string::npos);
  EXPECT_NE(error("window=3+").find("unknown mechanism ''"), std::string::npos);
  EXPECT_EQ(error("window"), "--self-attention: 'window': radius is missing: window=radius");
  EXPECT_EQ(error("longformer=4"),
            "--self-attention: 'longformer=4': globals is missing: longformer=radius:globals");
  EXPECT_EQ(error("window=1:2"), "--self-attention: 'window=1:2' has 2 numbers, expected at most 1: window=radius");
  EXPECT_EQ(error("softmax-with-sink=1"),
            "--self-attention: 'softmax-with-sink=1' has 1 number, expected at most 0: softmax-with-sink");
  for (const char* bad : {"a", "", "-1", "1.5", "99999999999", "nan", "1e", "1 ", " 1"})
    EXPECT_EQ(error("window=" + std::string(bad)),
              fmt::format("--self-attention: 'window={}': radius must be an integer from 0 to 16777216, got '{}'",
                          bad, bad));
  EXPECT_EQ(error("softcap=0"),
            "--self-attention: 'softcap=0': cap must be a number from 0.001 to 1000000, got '0'");
  EXPECT_EQ(error("window=3+window=4"), "--self-attention: 'window' is given twice");
  EXPECT_EQ(error("additive+bilinear"), "--self-attention: 'additive' and 'bilinear' cannot be combined");
  EXPECT_EQ(error("softmax-with-sink+epanechnikov=3"),
            "--self-attention: 'softmax-with-sink' and 'epanechnikov' cannot be combined");
  EXPECT_EQ(error("rotary+alibi"), "--self-attention: 'rotary' and 'alibi' cannot be combined");
  EXPECT_EQ(error("softcap=3+multi-token"), "--self-attention: 'softcap' and 'multi-token' cannot be combined");
  EXPECT_EQ(error("constant+softcap"), "--self-attention: 'constant' and 'softcap' cannot be combined");
  EXPECT_EQ(error("full+alibi"),
            "--self-attention: 'full' cannot be combined with other mechanisms, got 'full+alibi'");
}

TEST(AttentionVariant, IsCheckedAgainstItsUseAndLayer) {
  const AttentionSize self = {.d_model = 12, .heads = 4, .kv_heads = 4, .key_width = 12, .value_width = 12};
  AttentionSize cross = self, dropping = self;
  cross.use = AttentionUse::cross;
  dropping.dropout = true;
  EXPECT_EQ(error_in_layer("window=3", self), "");
  EXPECT_EQ(error_in_layer("window=3", cross), "there: 'window' is for self attention only");
  EXPECT_EQ(error_in_layer("local-p", self), "there: 'local-p' is for cross attention only");
  EXPECT_EQ(error_in_layer("local-p", cross), "");
  EXPECT_EQ(error_in_layer("rotary", self),
            "there: 'rotary': the width of a head must be even, got d-model 12 / heads 4 = 3");
  EXPECT_EQ(error_in_layer("bigbird=2:2", self),
            "there: 'bigbird=2:2': window must be an odd number of blocks, got 2");
  EXPECT_EQ(error_in_layer("relative-bias=6", self),
            "there: 'relative-bias=6': buckets must be a multiple of 4, got 6");
  EXPECT_EQ(error_in_layer("relative-bias=64:32", self),
            "there: 'relative-bias=64:32': max-distance must be more than half of the 64 buckets, got 32");
  EXPECT_EQ(error_in_layer("prefix=2", self),
            "there: 'prefix=2' needs another mask in the variant, as in window=64+prefix=4");
  EXPECT_EQ(error_in_layer("multi-token=2:4", self), "there: 'multi-token=2:4': keys must be odd, got 4");
  EXPECT_EQ(error_in_layer("multi-token=2:3:3", self),
            "there: 'multi-token=2:3:3': heads must divide the 4 heads of the layer, got 3");
  EXPECT_EQ(error_in_layer("multi-token", dropping),
            "there: 'multi-token': it has no dropout of attention weights: attention-dropout must be 0");
}

TEST(AttentionMechanisms, TheHelpFitsAHundredColumns) {
  std::string line;
  for (const char c : attention_mechanisms_help() + "\n") {
    if (c != '\n') {
      line += c;
      continue;
    }
    EXPECT_LE(line.size(), 100u) << line;
    line.clear();
  }
}

TEST(AttentionMechanisms, AreWrittenAsTheirUsageSays) {
  std::vector<std::string> usages;
  for (const AttentionMechanism& mechanism : attention_mechanisms()) {
    usages.push_back(usage(mechanism));
    EXPECT_FALSE(mechanism.help.empty()) << mechanism.name;
    EXPECT_TRUE(mechanism.in_self || mechanism.in_cross) << mechanism.name;
  }
  for (const char* wanted : {"full", "window=radius", "additive[=width]", "bigbird[=block:window:globals:random]"})
    EXPECT_EQ(std::count(usages.begin(), usages.end(), wanted), 1) << wanted;
}

}  // namespace
}  // namespace qkv
