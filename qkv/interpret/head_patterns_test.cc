#include "qkv/interpret/head_patterns.h"

#include <cmath>
#include <functional>
#include <map>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/interpret/head_table.h"
#include "qkv/interpret/pattern/separator.h"
#include "qkv/test_support/tensors.h"

namespace qkv::head_patterns_test {

const std::vector<std::string> tokens = {"<s>", "the", "cat", ".", "the", "cat", "ran", "</s>"};

// (1,T,S): all weight of query t on key(t); none: even.
Tensor looking_at(int64_t T, const std::function<int64_t(int64_t)>& key) {
  const int64_t S = std::ssize(tokens);
  Tensor out = Tensor::zeros({1, T, S});
  for (int64_t t = 0; t < T; ++t) {
    const int64_t s = key(t);
    if (s >= 0 && s < S)
      out.data<float>()[t * S + s] = 1;
    else
      out.select(0, 0).select(0, t).fill(1.0f / static_cast<float>(S));
  }
  return out;
}

std::map<std::string, double> named(const HeadPatterns& head) {
  std::map<std::string, double> out;
  for (size_t i = 0; i < head.strengths.size(); ++i)
    if (head.strengths[i]) out[std::string(head_patterns()[i].name)] = *head.strengths[i];
  return out;
}

std::string kind(const Tensor& weights, bool self = true) {
  return std::string(pattern_strengths(weights, tokens, self)[0].kind());
}

TEST(HeadPatterns, AHeadThatFollowsAPatternIsOfThatKind) {
  EXPECT_EQ(kind(looking_at(8, [](int64_t t) { return t - 1; })), "previous");
  EXPECT_EQ(kind(looking_at(8, [](int64_t t) { return t; })), "current");
  EXPECT_EQ(kind(looking_at(8, [](int64_t t) { return t + 1; })), "next");
  EXPECT_EQ(kind(looking_at(8, [](int64_t t) { return t - 3; })), "distance");
  EXPECT_EQ(kind(looking_at(8, [](int64_t) { return 0; })), "first");
  EXPECT_EQ(kind(looking_at(8, [](int64_t) { return 3; })), "separator");
  EXPECT_EQ(kind(looking_at(8, [](int64_t t) { return t == 4 ? 1 : t == 5 ? 2 : -1; })), "same");
  EXPECT_EQ(kind(looking_at(8, [](int64_t t) { return t == 4 ? 2 : t == 5 ? 3 : -1; })), "induction");
  EXPECT_EQ(kind(looking_at(8, [](int64_t) { return -1; })), "");
  EXPECT_EQ(kind(looking_at(15, [](int64_t t) { return (t + 1) / 2; }), false), "diagonal");
}

TEST(HeadPatterns, StrengthsAreTheMeanWeightsOfTheFormulas) {
  const Tensor w = test::random_tensor({2, 8, 8}, 3);
  const LayerPatterns heads = pattern_strengths(w, tokens, true);
  for (int64_t h = 0; h < 2; ++h) {
    const auto mean = [&](const std::vector<std::pair<int64_t, int64_t>>& pairs, double queries) {
      double sum = 0;
      for (const auto& [t, s] : pairs) sum += w.at<float>({h, t, s});
      return sum / queries;
    };
    const auto along = [&](int64_t d) {
      std::vector<std::pair<int64_t, int64_t>> pairs;
      for (int64_t t = 0; t < 8; ++t)
        if (t + d >= 0 && t + d < 8) pairs.emplace_back(t, t + d);
      return mean(pairs, static_cast<double>(pairs.size()));
    };
    double farther = -1e9;
    for (const int64_t d : {-4, -3, -2, 2, 3, 4}) farther = std::max(farther, along(d));
    std::vector<std::pair<int64_t, int64_t>> first, separators;
    for (int64_t t = 0; t < 8; ++t) {
      if (t > 0) first.emplace_back(t, 0);
      for (const int64_t s : {3, 7}) separators.emplace_back(t, s);
    }
    const std::map<std::string, double> wanted = {{"previous", along(-1)},
                                                  {"current", along(0)},
                                                  {"next", along(1)},
                                                  {"distance", farther},
                                                  {"same", mean({{4, 1}, {5, 2}}, 2)},
                                                  {"induction", mean({{4, 2}, {5, 3}}, 2)},
                                                  {"first", mean(first, 7)},
                                                  {"separator", mean(separators, 8)}};
    const std::map<std::string, double> got = named(heads[static_cast<size_t>(h)]);
    ASSERT_EQ(got.size(), wanted.size());
    for (const auto& [name, strength] : wanted) EXPECT_NEAR(got.at(name), strength, 1e-12) << name;
  }
}

TEST(HeadPatterns, APatternWithoutQueriesHasNoStrength) {
  const std::vector<std::string> different = {"a", "b", "c"};
  const auto self = named(pattern_strengths(Tensor::zeros({1, 3, 3}), different, true)[0]);
  EXPECT_FALSE(self.contains("same") || self.contains("induction") || self.contains("separator") ||
               self.contains("diagonal") || self.contains("distance"));
  const auto cross = named(pattern_strengths(Tensor::zeros({1, 2, 3}), different, false)[0]);
  EXPECT_EQ(cross.size(), 2u);  // diagonal, first
  EXPECT_TRUE(named(pattern_strengths(Tensor::zeros({1, 1, 1}), std::vector<std::string>{"a"}, true)[0])
                  .contains("current"));
}

TEST(HeadPatterns, PunctuationAndSpecialTokensAreSeparators) {
  for (const char* token : {".", ",", "\xe2\x96\x81,", "[SEP]", "</s>", "<|endoftext|>", "...", "\xc4\xa0?"})
    EXPECT_TRUE(pattern::is_separator(token)) << token;
  for (const char* token : {"", "a", "a.", "##s", "\xe2\x96\x81", "\xc4\xa0"})
    EXPECT_FALSE(pattern::is_separator(token)) << token;
}

TEST(HeadPatterns, RefusesWeightsWithoutTheirTokens) {
  EXPECT_THROW(pattern_strengths(Tensor::zeros({1, 8, 7}), tokens, true), Error);
  EXPECT_THROW(pattern_strengths(Tensor::zeros({1, 7, 8}), tokens, true), Error);
  EXPECT_THROW(pattern_strengths(Tensor::zeros({8, 8}), tokens, true), Error);
}

TEST(HeadTable, HasARowForEveryHeadAndTheStrongestDistance) {
  AttentionMaps maps{.use = AttentionUse::decoder, .columns = tokens};
  maps.layers = {looking_at(8, [](int64_t t) { return t - 1; }), looking_at(8, [](int64_t t) { return t - 3; })};
  const std::string text = head_table(std::span(&maps, 1));
  EXPECT_EQ(text.find("diagonal"), std::string::npos) << text;
  for (const char* part : {"decoder.0.self.0  previous", "decoder.1.self.0  distance", "1.00 (-3)", "induction"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace qkv::head_patterns_test
