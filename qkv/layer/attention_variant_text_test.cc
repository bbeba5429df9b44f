#include "qkv/layer/attention_variant_text.h"

#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/layer/attention_mechanisms_test.h"
#include "qkv/layer/mechanism/elsewhere.h"

namespace qkv::attention_variant_text_test {

// The error of a text, or "".
std::string error(const std::string& text) {
  try {
    attention_variant(text, "--self-attention");
    return "";
  } catch (const UsageError& e) {
    return e.what();
  }
}

TEST(AttentionVariantText, IsReadAndWritten) {
  for (const char* text : {"full", "window=64", "window=64+softcap=30", "bigbird=8:3:1:2", "longformer=64:4+rotary",
                           "additive=256", "additive", "gaussian=1.5", "local-p=5+softmax-with-sink",
                           "multi-token=3:5:2", "dot", "constant", "window=64+prefix=4"})
    EXPECT_EQ(to_string(attention_variant(text)), text);
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms()) {
    const AttentionVariant variant = attention_variant(sample_of(*mechanism));
    EXPECT_EQ(attention_variant(to_string(variant)), variant) << to_string(variant);
  }
  EXPECT_EQ(to_string(attention_variant("softcap=50+additive=0")), "softcap+additive") << "defaults are left out";
  EXPECT_EQ(to_string(attention_variant("bigbird=8")), "bigbird=8");
  EXPECT_EQ(attention_variant("bigbird=8"), (BigBird{.block = 8, .window = 3, .globals = 1, .random = 3}));
  EXPECT_TRUE(attention_variant("full").mechanisms().empty());
}

// Every text of a mechanism, with all numbers by place and with as few as possible, and what it stands for in C++.
TEST(AttentionVariantText, StandsForTypedMechanisms) {
  const std::vector<std::pair<const char*, AttentionVariant>> same = {
      {"full", {}},
      {"full", Full{}},
      {"window=64", SlidingWindow{64}},
      {"dilated=3:2", Dilated{.radius = 3, .dilation = 2}},
      {"strided=3", Strided{.stride = 3}},
      {"longformer=64:4", Longformer{.radius = 64, .globals = 4}},
      {"bigbird", BigBird{}},
      {"bigbird=8:5:0:2", BigBird{.block = 8, .window = 5, .globals = 0, .random = 2}},
      {"window=1+prefix=4", SlidingWindow{1} + Prefix{.count = 4}},
      {"longformer-separate=64:4", LongformerSeparate{.radius = 64, .globals = 4}},
      {"dot", Dot{}},
      {"dot=0.0625", Dot{.scale = 0.0625}},
      {"bilinear", Bilinear{}},
      {"additive", Additive{}},
      {"additive=256", Additive{.width = 256}},
      {"cosine", Cosine{}},
      {"cosine=2.5", Cosine{.scale = 2.5}},
      {"distance", Distance{}},
      {"gaussian=1.5", Gaussian{.sigma = 1.5}},
      {"location", Location{}},
      {"location=20", Location{.keys = 20}},
      {"boxcar=2", Boxcar{.sigma = 2}},
      {"epanechnikov=2", Epanechnikov{.sigma = 2}},
      {"triangular=2", Triangular{.sigma = 2}},
      {"constant", Constant{}},
      {"softcap", Softcap{}},
      {"softcap=30", Softcap{.cap = 30}},
      {"softmax-with-sink", SoftmaxWithSink{}},
      {"local-m", LocalM{}},
      {"local-m=5", LocalM{.radius = 5}},
      {"local-p", LocalP{}},
      {"local-p=5", LocalP{.radius = 5}},
      {"rotary", Rotary{}},
      {"rotary=500000", Rotary{.base = 5e5}},
      {"rotary=10000:32", Rotary{.width = 32}},
      {"rotary=scaling=linear:factor=4", Rotary{.scaling = {.type = RotaryScalingType::linear, .factor = 4}}},
      {"alibi", Alibi{}},
      {"falcon-alibi", FalconAlibi{}},
      {"bigbird-evaluation", BigBirdEvaluation{}},
      {"bigbird-evaluation=16:2", BigBirdEvaluation{.block = 16, .random = 2}},
      {"relative-bias", RelativeBias{}},
      {"relative-bias=shared=true", RelativeBias{.shared = true}},
      {"relative-bias=64:256", RelativeBias{.buckets = 64, .max_distance = 256}},
      {"bias=64", Bias{.positions = 64}},
      {"multi-token", MultiToken{}},
      {"multi-token=4:5:2", MultiToken{.queries = 4, .keys = 5, .heads = 2}}};
  std::set<std::string_view> names = {"full"};
  for (const auto& [text, variant] : same) {
    EXPECT_EQ(attention_variant(text), variant) << text;
    EXPECT_EQ(to_string(variant), text);
    for (const AttentionMechanismPtr& mechanism : variant.mechanisms()) names.insert(mechanism->facts().name);
  }
  EXPECT_EQ(names.size(), attention_mechanisms().size()) << "every mechanism is in this test";
}

TEST(AttentionVariantText, ErrorsNameTheMechanismAndWhatWasExpected) {
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

TEST(AttentionVariantText, TakesArgumentsByName) {
  EXPECT_EQ(attention_variant("bigbird=8:random=2"), (BigBird{.block = 8, .random = 2}));
  EXPECT_EQ(attention_variant("longformer=globals=2:radius=5"), (Longformer{.radius = 5, .globals = 2}));
  EXPECT_EQ(to_string(attention_variant("bigbird=8:random=2")), "bigbird=8:3:1:2");
  EXPECT_EQ(
      error("bigbird=8:rondom=2"),
      "--self-attention: 'bigbird=8:rondom=2': unknown argument 'rondom', must be one of block, window, globals, "
      "random; did you mean random?");
  EXPECT_EQ(error("bigbird=8:block=2"), "--self-attention: 'bigbird=8:block=2': block is given twice");
  EXPECT_EQ(error("bigbird=random=2:8"),
            "--self-attention: 'bigbird=random=2:8': '8' must be in front of the arguments that are given by name: "
            "bigbird[=block:window:globals:random]");
  EXPECT_EQ(error("longformer=globals=2"),
            "--self-attention: 'longformer=globals=2': radius is missing: longformer=radius:globals");
  EXPECT_EQ(
      error("rotary=100:2:3"),
      "--self-attention: 'rotary=100:2:3' has 3 numbers, expected at most 2: rotary[=base:width:name=value...]");
  EXPECT_EQ(error("rotary=scaling=yarm"),
            "--self-attention: 'rotary=scaling=yarm': scaling must be one of none, linear, dynamic, llama3, yarn, "
            "longrope, proportional, got 'yarm'; did you mean yarn?");
  EXPECT_EQ(error("rotary=interleaved=1"),
            "--self-attention: 'rotary=interleaved=1': interleaved must be one of false, true, got '1'");
  for (const char* bad : {"", "1/", "/1", "1//2", "1/x", "1/0", "1/nan"})
    EXPECT_EQ(error(fmt::format("rotary=short={}", bad)),
              fmt::format("--self-attention: 'rotary=short={}': short must be numbers from 0.001 to 1000000 joined "
                          "by /, got '{}'",
                          bad, bad));
}

// Words that people may look for among the mechanisms. They are not there because a layer cannot know what they need.
TEST(AttentionVariantText, SaysWhereToFindWhatIsNotAMechanism) {
  EXPECT_EQ(error("documents"),
            "--self-attention: 'documents' is not part of a variant: the ids of a packed row come with the batch: "
            "CausalTransformer::forward(ids, pass, documents), or documents(ids) as the mask of a call");
  for (const char* text : {"dense", "dense=3", "window=3+blocks=2", "causal", "padding", "dropout=0.1", "concat"})
    EXPECT_NE(error(text).find("is not part of a variant: "), std::string::npos) << text;
  for (const MechanismElsewhere& each : mechanisms_elsewhere())
    for (const AttentionMechanismPtr& mechanism : attention_mechanisms())
      EXPECT_NE(each.name, mechanism->facts().name);
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
  for (const AttentionMechanismPtr& mechanism : attention_mechanisms()) {
    const AttentionMechanism::Facts facts = mechanism->facts();
    usages.push_back(usage(*mechanism));
    EXPECT_FALSE(facts.help.empty()) << facts.name;
    EXPECT_TRUE(facts.in_self || facts.in_cross) << facts.name;
  }
  for (const char* wanted : {"full", "window=radius", "additive[=width]", "bigbird[=block:window:globals:random]"})
    EXPECT_EQ(std::count(usages.begin(), usages.end(), wanted), 1) << wanted;
}

}  // namespace qkv::attention_variant_text_test
