#include "qkv/picture/head_summary.h"

#include <gtest/gtest.h>

#include "qkv/picture/heatmap.h"

namespace qkv::head_summary_test {

const std::vector<std::string> tokens = {"<s>", "I", "am", "cold", "."};

Panel panel_of(const std::vector<std::vector<float>>& rows, std::vector<std::string> queries = tokens,
               std::vector<std::string> keys = tokens) {
  std::vector<float> all;
  for (const std::vector<float>& row : rows) all.insert(all.end(), row.begin(), row.end());
  const auto count = static_cast<int64_t>(rows.size());
  return {"", Tensor::from(all, {count, static_cast<int64_t>(rows[0].size())}), std::move(queries),
          std::move(keys)};
}

// Query i attends to key i + offset with this share, and evenly to the others.
Panel shifted(int offset, float share) {
  std::vector<std::vector<float>> rows(5, std::vector<float>(5, (1 - share) / 4));
  for (int i = 0; i < 5; ++i)
    if (i + offset >= 0 && i + offset < 5) rows[static_cast<size_t>(i)][static_cast<size_t>(i + offset)] = share;
  return panel_of(rows);
}

TEST(HeadSummary, NamesThePositionThatHasMostOfTheWeight) {
  EXPECT_EQ(summarize_head(shifted(0, 0.9f)).pattern, "same token 90%");
  // The first query has no previous token, and does not count.
  EXPECT_EQ(summarize_head(shifted(-1, 1)).pattern, "previous token 100%");
  EXPECT_EQ(summarize_head(shifted(1, 1)).pattern, "next token 100%");
  EXPECT_EQ(summarize_head(panel_of({5, {0.8f, 0.05f, 0.05f, 0.05f, 0.05f}})).pattern, "first token <s> 80%");
  EXPECT_EQ(summarize_head(panel_of({5, {0.05f, 0.05f, 0.75f, 0.1f, 0.05f}})).pattern, "token am 75%");
  EXPECT_EQ(summarize_head(panel_of({5, {0.05f, 0.05f, 0.05f, 0.05f, 0.8f}})).pattern, "last token . 80%");
}

TEST(HeadSummary, ADecoderHasReadTheKeyOnTheDiagonalLast) {
  const std::vector<std::vector<float>> identity = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
  EXPECT_EQ(summarize_head(panel_of(identity, {"I", "am", "</s>"}, {"<s>", "I", "am"})).pattern,
            "current token 100%");
  EXPECT_EQ(summarize_head(panel_of(identity, {"a", "b", "c"}, {"x", "y", "z"})).pattern, "diagonal 100%");
  // The diagonal of unequal lengths, from corner to corner.
  EXPECT_EQ(summarize_head(panel_of({{1, 0, 0, 0, 0}, {0, 0, 1, 0, 0}, {0, 0, 0, 0, 1}}, {"a", "b", "c"},
                                    {"1", "2", "3", "4", "5"}))
                .pattern,
            "diagonal 100%");
}

TEST(HeadSummary, OtherHeadsAreEvenFocusedOrMixed) {
  EXPECT_EQ(summarize_head(panel_of({5, {0.2f, 0.2f, 0.2f, 0.2f, 0.2f}})).pattern, "even");
  EXPECT_EQ(summarize_head(
                panel_of({{0, 0, 1, 0, 0}, {0, 0, 0, 0, 1}, {1, 0, 0, 0, 0}, {0, 1, 0, 0, 0}, {0, 0, 0, 1, 0}}))
                .pattern,
            "focused");
  EXPECT_EQ(summarize_head(panel_of({5, {0.02f, 0.36f, 0.36f, 0.13f, 0.13f}})).pattern, "mixed");
  // The first query of a causal model sees one key, which does not make the head one that attends to it.
  EXPECT_EQ(summarize_head(
                panel_of({{1, 0, 0}, {0.5f, 0.5f, 0}, {0.34f, 0.33f, 0.33f}}, {"a", "b", "c"}, {"a", "b", "c"}))
                .pattern,
            "even");
  EXPECT_EQ(summarize_head(panel_of({2, {0, 0}}, {"a", "b"}, {"a", "b"})).pattern, "nothing");
}

TEST(HeadSummary, EntropyIsRelativeToTheKeysThatAreSeen) {
  EXPECT_NEAR(summarize_head(panel_of({5, {0.2f, 0.2f, 0.2f, 0.2f, 0.2f}})).entropy, 1, 1e-6);
  EXPECT_NEAR(summarize_head(panel_of({5, {0.5f, 0.5f, 0, 0, 0}})).entropy, 1, 1e-6);
  EXPECT_NEAR(summarize_head(shifted(0, 1)).entropy, 0, 1e-6);
}

TEST(HeadSummary, InformationIsZeroWhereEveryQueryAttendsAlike) {
  EXPECT_NEAR(summarize_head(shifted(0, 1)).information, std::log2(5.0), 1e-6);
  EXPECT_NEAR(summarize_head(panel_of({5, {0, 0, 1, 0, 0}})).information, 0, 1e-6);
  EXPECT_NEAR(summarize_head(panel_of({5, {0.2f, 0.2f, 0.2f, 0.2f, 0.2f}})).information, 0, 1e-6);
  // Weights that are not normalized, as after dropout, are.
  EXPECT_NEAR(summarize_head(panel_of({{3, 0}, {0, 0.1f}}, {"a", "b"}, {"a", "b"})).information, 1, 1e-6);
}

TEST(HeadSummary, TheMostInformativeHeadIsFoundAmongHeadsOnly) {
  PanelGroup group;
  group.panels = {shifted(0, 0.3f), shifted(1, 0.99f), shifted(0, 0.5f)};
  EXPECT_EQ(opening_panel(group), 0u) << "matrices of any kind";
  group.heads = 3;
  EXPECT_EQ(opening_panel(group), 1u);
}

}  // namespace qkv::head_summary_test
