// qkv explain and qkv compare.

#include <string>

#include "test/command_test.h"

namespace qkv::explain_command_test {

using Explain = CommandTest;
using Compare = CommandTest;

TEST_F(Explain, AnAttentionBySizesAndMask) {
  const Outcome causal = bash("qkv explain --heads 2 --queries 100 --causal");
  EXPECT_EQ(causal.code, 0) << causal.err;
  for (const char* part :
       {"causal()", "10,100 of 20,000 visible", "backward", "KV cache", "head width D", "length T = S"})
    EXPECT_NE(causal.out.find(part), std::string::npos) << part << " is not in\n" << causal.out;
  EXPECT_EQ(causal.err, "");
  const Outcome window = bash("qkv explain --heads 1 --queries 100 --attention window=1");
  EXPECT_NE(window.out.find("298 of 10,000 visible"), std::string::npos) << window.out;
  const Outcome step = bash("qkv explain --heads 8 --kv-heads 2 --queries 1 --keys 1000");
  EXPECT_NE(step.out.find("8,000 of 8,000 visible"), std::string::npos) << step.out;
  EXPECT_EQ(step.out.find("length T = S"), std::string::npos);
  const Outcome settings =
      bash("printf 'heads = 1\nqueries = 9\n' > sizes.toml && qkv explain --config sizes.toml");
  EXPECT_NE(settings.out.find("81 of 81 visible"), std::string::npos) << settings.out << settings.err;
}

TEST_F(Explain, AModelByItsParts) {
  const Outcome model = bash("qkv explain --model model --source-length 7 --batch 2 --output growth.svg");
  EXPECT_EQ(model.code, 0) << model.err;
  for (const char* part :
       {"Forward of 2 rows, S 7, T 25", "encoder: self-attention, 7 of 7 keys", "width C", "layers"})
    EXPECT_NE(model.out.find(part), std::string::npos) << part << " is not in\n" << model.out;
  EXPECT_EQ(model.err, "growth: growth.svg\n");
  EXPECT_EQ(bash("grep -c '<svg' growth.svg").out, "1\n");
  const Outcome recipe = bash("qkv explain --recipe luong --vocabulary-size 100");
  EXPECT_EQ(recipe.code, 0) << recipe.err;
  EXPECT_NE(recipe.out.find("decoder: cells"), std::string::npos) << recipe.out;
}

TEST_F(Explain, WhatDoesNotFitIsNamed) {
  expect_error(bash("qkv explain --heads 8 --kv-heads 3"), 2, {"qkv explain: kv-heads 3 must divide heads 8"});
  expect_error(bash("qkv explain --heads 0"), 2, {"qkv explain: heads must be 1 to"});
  expect_error(bash("qkv explain --queries 1e3"), 2, {"--queries", "must be an integer"});
  expect_error(bash("qkv explain --attention widnow=3"), 2, {"--attention 'widnow=3'", "did you mean window"});
  expect_error(bash("qkv explain --cross --attention window=3"), 2, {"'window' is for self attention only"});
  expect_error(bash("qkv explain --causal --cross"), 2, {"exclude each other"});
  expect_error(bash("qkv explain --model model --heads 4"), 2, {"--heads is for an attention by itself"});
  expect_error(bash("qkv explain --source-length 4"), 2, {"--source-length is for --model and --recipe"});
  expect_error(bash("qkv explain --model model --recipe transformer-tiny"), 2, {"exclude each other"});
  expect_error(bash("qkv explain --model missing"), 1, {"missing"});
  expect_error(bash("qkv explain --output growth.pdf"), 2, {"the name must end in .svg, .png or .html"});
}

TEST_F(Compare, MechanismsSideBySideForASweep) {
  const Outcome table = bash("qkv compare full window=2 kv-heads=1 --heads 2 --sweep length=16..64");
  EXPECT_EQ(table.code, 0) << table.err;
  EXPECT_EQ(lines_in(table.out), 1 + 3 * 3) << table.out;
  EXPECT_NE(table.out.find("window=2     7.67 %"), std::string::npos) << table.out;  // (5 * 64 - 6) / 64^2
  const Outcome json = bash("qkv compare full additive --heads 2 --queries 8 --sweep heads=2 --measure --json");
  EXPECT_EQ(json.code, 0) << json.err;
  for (const char* part : {"\"visible_pairs\":128", "\"mechanism\":\"additive\"", "\"median\":"})
    EXPECT_NE(json.out.find(part), std::string::npos) << part << " is not in\n" << json.out;
  EXPECT_NE(json.err.find("measuring additive, heads 2"), std::string::npos) << json.err;
  const Outcome plot = bash(
      "qkv compare --queries 512 --sweep keys=128..512 --quiet --output compare.svg && "
      "grep -o 'FLOP per byte' compare.svg");
  EXPECT_EQ(plot.code, 0) << plot.err;
  EXPECT_TRUE(plot.out.ends_with("FLOP per byte\n"));
}

TEST_F(Compare, WhatDoesNotFitIsNamed) {
  expect_error(bash("qkv compare widnow=3"), 2, {"'widnow=3'", "did you mean window"});
  expect_error(bash("qkv compare full --sweep lenght"), 2, {"axis of a sweep", "did you mean length"});
  expect_error(bash("qkv compare full --sweep length=8..4"), 2, {"from the smaller size to the larger"});
  expect_error(bash("qkv compare kv-heads=3"), 2, {"--kv-heads 3 must divide --heads 8"});
  expect_error(bash("qkv compare window=3 --cross"), 2, {"'window=3'"});
  expect_error(bash("qkv compare longformer-separate=3:1 --queries 8 --measure --sweep length=8 --quiet"), 2,
               {"longformer-separate"});
}

}  // namespace qkv::explain_command_test
