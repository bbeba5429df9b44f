// Textbook numbers for single layers.
#include "qkv/model/describe_layer.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::describe_layer_test {

void expect_parts(const std::string& layer, const std::vector<std::string>& parts,
                  const DescribeOptions& options = {}) {
  const std::string text = describe_layer(layer, options);
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
}

TEST(DescribeLayer, AttentionHasTheParametersOfItsFourMatrices) {
  // 4 * 512^2 = 1,048,576 and 4 biases of 512.
  expect_parts("attention d=512 heads=8", {"4 C^2 + 4 C", "1,050,624", "without biases: 1,048,576"});
  expect_parts("attention d=512 heads=8 no-bias", {"4 C^2", "1,048,576"});
  // Two heads of width 64 for keys and values: 2 * 512^2 + 2 * 512 * 128.
  expect_parts("attention d=512 heads=8 kv-heads=2 no-bias", {"2 C^2 + 2 C K", "655,360", "1.02 kB"});
  expect_parts("attention d=512 heads=8 fused-qkv", {"query_key_value (1536, 512)", "1,050,624"});
  // Heads of width 100 and sources of width 300: (3 * 300 + 512) * 800 weights, 3 * 800 + 512 biases.
  expect_parts("attention d=512 heads=8 head-width=100 source-width=300 fused-qkv",
               {"1,132,512", "without biases: 1,129,600"});
  expect_parts("attention d=512 heads=8 cross key-width=256 value-width=128 no-bias", {"720,896"});
}

TEST(DescribeLayer, AttentionCountsVisiblePairs) {
  // 2 D FLOPs for a score and as many for a value, in 8 heads of width 64: 2,048 for every visible key.
  expect_parts("attention d=512 heads=8", {"100 of 100 keys", "205 kFLOP"}, {.target_length = 100});
  expect_parts("attention d=512 heads=8 causal", {"50.5 of 100 keys", "103 kFLOP"}, {.target_length = 100});
  // A window of 2 to both sides: 5 keys, at the two ends 3 and 4: (96 * 5 + 2 * 3 + 2 * 4) / 100 of 100.
  expect_parts("attention d=512 heads=8 window=2", {"4.94 of 100 keys", "10.1 kFLOP"}, {.target_length = 100});
  // Heads of width 100: 4 * 100 * 8 for every visible key, which 4 C is not.
  expect_parts("attention d=512 heads=8 head-width=100", {"320 kFLOP", "1 * 400 H keys"}, {.target_length = 100});
  expect_parts("attention d=512 heads=8 cross", {"7 of 7 keys"}, {.source_length = 7, .target_length = 3});
}

TEST(DescribeLayer, OtherKindsHaveTheirFormulas) {
  expect_parts("ffn d=512", {"2 C F + F + C", "2,099,712", "without biases: 2,097,152", "4.19 MFLOP"});
  expect_parts("ffn d=512 ffn=1376 gated no-bias", {"3 C F", "2,113,536"});
  expect_parts("norm d=512", {"1,024"});
  expect_parts("norm d=512 rms", {"512"});
  expect_parts("linear in=300 out=20", {"6,020", "without biases: 6,000", "12.0 kFLOP"});
  expect_parts("embedding vocabulary=8000 d=128", {"1,024,000"});
  // torch.nn.GRU and LSTM: gates (I W + W W + 2 W).
  expect_parts("gru d=256", {"394,752", "state of a row", "1.02 kB"});
  expect_parts("lstm in=100 d=256", {"366,592", "2.05 kB"});
}

TEST(DescribeLayer, IntensityIsFlopsOverTheBytesOfWeightsAndVectors) {
  // One token: 2 * 512 * 2048 FLOPs over 4 * (512 * 2048 + 512 + 2048) bytes.
  expect_parts("linear in=512 out=2048 no-bias", {" 0.50 "}, {.target_length = 1, .batch = 1});
  // 1,000 tokens: 1000 * 2097152 / (4 * 1048576 + 1000 * 4 * 2560).
  expect_parts("linear in=512 out=2048 no-bias", {" 145.3 "}, {.target_length = 100, .batch = 10});
}

TEST(DescribeLayer, WhatIsWrongIsNamed) {
  const auto message = [](const std::string& text) {
    try {
      describe_layer(text);
    } catch (const UsageError& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  EXPECT_NE(message("").find("a kind of layer is missing"), std::string::npos);
  EXPECT_NE(message("atention d=5").find("must be attention, ffn"), std::string::npos);
  EXPECT_NE(message("attention heads=8").find("needs d=N"), std::string::npos);
  EXPECT_NE(message("attention d=512 heads=8 widnow=3").find("'widnow=3' is neither"), std::string::npos);
  EXPECT_NE(message("attention d=5x").find("d must be 1 to"), std::string::npos);
  EXPECT_NE(message("attention d=0").find("d must be 1 to"), std::string::npos);
  EXPECT_NE(message("ffn d=512 heads=8").find("ffn takes"), std::string::npos);
  EXPECT_NE(message("attention d=10 heads=3").find("heads"), std::string::npos);
  EXPECT_NE(message("attention d=512 heads=8 cross fused-qkv").find("fused"), std::string::npos);
}

}  // namespace qkv::describe_layer_test
