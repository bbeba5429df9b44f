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

std::string misuse(const std::string& text, const AttentionSize& size) {
  try {
    check_variant(attention_variant(text), size, "there");
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(AttentionVariant, IsReadAndWritten) {
  for (const char* text : {"full", "window=64", "window=64+softcap=30", "bigbird=8:3:1:2", "longformer=64:4+rotary",
                           "additive=256", "additive", "gaussian=1.5", "local-p=5+sink", "multi-token=3:5:2"})
    EXPECT_EQ(to_string(attention_variant(text)), text);
  for (const AttentionMechanism& word : attention_mechanisms()) {
    const std::string text = to_string(attention_variant(sample_of(word)));
    EXPECT_EQ(to_string(attention_variant(text)), text) << "once written, always the same";
  }
  EXPECT_EQ(to_string(attention_variant("softcap=50+additive=0")), "softcap+additive")
      << "what is as usual is left out";
  EXPECT_EQ(to_string(attention_variant("bigbird=8")), "bigbird=8");
  EXPECT_EQ(attention_variant("bigbird=8").parts()[0].numbers, (std::vector<double>{8, 3, 1, 3}));
  EXPECT_TRUE(attention_variant("full").parts().empty());
}

TEST(AttentionVariant, ErrorsNameTheWordAndWhatWasExpected) {
  EXPECT_NE(error("widow=64").find("--self-attention: there is no word 'widow', the words are full, window, "),
            std::string::npos);
  EXPECT_TRUE(error("widow=64").ends_with("; did you mean window?")) << error("widow=64");
  EXPECT_NE(error("").find("there is no word ''"), std::string::npos);
  EXPECT_NE(error("window=3+").find("there is no word ''"), std::string::npos);
  EXPECT_EQ(error("window"), "--self-attention: 'window' lacks its reach: write window=reach");
  EXPECT_EQ(error("longformer=4"),
            "--self-attention: 'longformer=4' lacks its globals: write "
            "longformer=reach:globals");
  EXPECT_EQ(error("window=1:2"), "--self-attention: 'window=1:2' has 2 numbers, window takes 1: window=reach");
  EXPECT_EQ(error("sink=1"), "--self-attention: 'sink=1' has 1 numbers, sink takes 0: sink");
  for (const char* bad : {"a", "", "-1", "1.5", "99999999999", "nan", "1e", "1 ", " 1"})
    EXPECT_EQ(
        error("window=" + std::string(bad)),
        fmt::format("--self-attention: 'window={}': reach must be a whole number from 0 to 16777216, got '{}'", bad,
                    bad));
  EXPECT_EQ(error("softcap=0"),
            "--self-attention: 'softcap=0': cap must be a number from 0.001 to 1000000, got '0'");
  EXPECT_EQ(error("window=3+window=4"), "--self-attention: 'window' stands there twice");
  EXPECT_EQ(error("additive+bilinear"), "--self-attention: 'additive' and 'bilinear' exclude each other");
  EXPECT_EQ(error("sink+epanechnikov=3"), "--self-attention: 'sink' and 'epanechnikov' exclude each other");
  EXPECT_EQ(error("rotary+alibi"), "--self-attention: 'rotary' and 'alibi' exclude each other");
  EXPECT_EQ(error("softcap=3+multi-token"), "--self-attention: 'softcap' and 'multi-token' exclude each other");
  EXPECT_EQ(error("full+sink"), "--self-attention: 'full' goes with no other word, got 'full+sink'");
}

TEST(AttentionVariant, IsHeldToItsPlace) {
  const AttentionSize self = {.width = 12, .heads = 4, .kv_heads = 4, .key_width = 12, .value_width = 12};
  AttentionSize cross = self, dropping = self;
  cross.use = AttentionUse::cross;
  dropping.dropout = true;
  EXPECT_EQ(misuse("window=3", self), "");
  EXPECT_EQ(misuse("window=3", cross), "there: 'window' is not for attention to the other sentence");
  EXPECT_EQ(misuse("local-p", self), "there: 'local-p' is not for self-attention");
  EXPECT_EQ(misuse("local-p", cross), "");
  EXPECT_EQ(misuse("rotary", self),
            "there: 'rotary': it turns pairs of numbers, so a head must have an even width, not 12 / 4 = 3");
  EXPECT_EQ(misuse("bigbird=2:2", self), "there: 'bigbird=2:2': window is an odd number of blocks, got 2");
  EXPECT_EQ(misuse("t5=6", self), "there: 't5=6': buckets must be a multiple of 4, got 6");
  EXPECT_EQ(misuse("t5=64:32", self), "there: 't5=64:32': distance must be more than half the 64 buckets, got 32");
  EXPECT_EQ(misuse("multi-token=2:4", self),
            "there: 'multi-token=2:4': keys must be odd, as many on both sides, got 4");
  EXPECT_EQ(misuse("multi-token=2:3:3", self),
            "there: 'multi-token=2:3:3': groups of 3 heads do not divide 4 heads");
  EXPECT_EQ(misuse("multi-token", dropping),
            "there: 'multi-token': it has no dropout of weights: set that rate to 0");
}

TEST(AttentionMechanisms, SayHowTheyAreWritten) {
  std::vector<std::string> usages;
  for (const AttentionMechanism& word : attention_mechanisms()) {
    usages.push_back(usage(word));
    EXPECT_FALSE(word.help.empty()) << word.name;
    EXPECT_TRUE(word.in_self || word.in_cross) << word.name;
  }
  for (const char* wanted : {"full", "window=reach", "additive[=width]", "bigbird[=block:window:globals:random]"})
    EXPECT_EQ(std::count(usages.begin(), usages.end(), wanted), 1) << wanted;
}

}  // namespace
}  // namespace qkv
