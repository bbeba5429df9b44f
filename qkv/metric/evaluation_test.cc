#include "qkv/metric/evaluation.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/json.h"
#include "qkv/metric/evaluation_table.h"

namespace qkv::evaluation_test {

using Lines = std::vector<std::string>;

const std::string twelve = "one two three four five six seven eight nine ten eleven twelve";

Evaluation example() {
  return Evaluation(
      {{"a", {"the cat sat", twelve, "hello there"}}, {"b", {"the cat sat", "one two", "hello here"}}},
      {{"the cat sat", twelve, "hello world"}}, {.confidence = true});
}

TEST(Evaluation, ScoresEverySystemLikeTheMetrics) {
  const Evaluation e = example();
  const std::vector<SystemResult> results = e.results();
  ASSERT_EQ(results.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    const Lines& lines = e.systems()[i].lines;
    ASSERT_EQ(results[i].metrics.size(), 3u);
    EXPECT_EQ(results[i].metrics[0].score, bleu(lines, e.references()).score);
    EXPECT_EQ(results[i].metrics[1].score, chrf(lines, e.references()).score);
    EXPECT_EQ(results[i].metrics[2].score, ter(lines, e.references()).score);
    EXPECT_EQ(results[i].metrics[0].details, bleu(lines, e.references()).details());
    EXPECT_TRUE(results[i].metrics[2].confidence);
    EXPECT_FALSE(results[i].metrics[2].p_value);
  }
  EXPECT_EQ(results[0].exact_matches, 2);
  EXPECT_EQ(results[1].exact_matches, 1);
  EXPECT_EQ(results[1].sentences, 3);
}

TEST(Evaluation, ScoresOfABucketAreThoseOfItsSentencesAlone) {
  const Evaluation e = example();
  const std::vector<LengthBucket> buckets = e.by_length(e.references()[0]);
  ASSERT_EQ(buckets.size(), 2u);
  EXPECT_EQ(buckets[0].label(), "<10");
  EXPECT_EQ(buckets[1].label(), "10-19");
  EXPECT_EQ(buckets[0].results[1].sentences, 2);
  EXPECT_EQ(buckets[0].results[1].metrics[1].score,
            chrf(Lines{"the cat sat", "hello here"}, Lines{"the cat sat", "hello world"}).score);
  EXPECT_EQ(buckets[1].results[1].metrics[0].score, bleu(Lines{"one two"}, Lines{twelve}).score);
  EXPECT_EQ(buckets[1].results[0].exact_matches, 1);
}

TEST(Evaluation, TheLimitsOfBucketsAreThoseOfCompareMt) {
  Lines texts;
  for (const int words : {0, 9, 10, 59, 60, 200}) {
    texts.emplace_back();
    for (int i = 0; i < words; ++i) texts.back() += "w ";
  }
  const Evaluation e({{"a", Lines(6, "x")}}, {Lines(6, "x")});
  Lines labels;
  for (const LengthBucket& bucket : e.by_length(texts))
    labels.push_back(bucket.label() + ": " + std::to_string(bucket.results[0].sentences));
  EXPECT_EQ(labels, (Lines{"<10: 2", "10-19: 1", "50-59: 1", ">=60: 2"}));
}

TEST(Evaluation, ScoresOfASentenceAreThoseOfTheSentenceMetrics) {
  const Evaluation e = example();
  const SentenceScores scores = e.sentence_scores(1)[2];
  EXPECT_EQ(scores.bleu, sentence_bleu("hello here", {"hello world"}).score);
  EXPECT_EQ(scores.chrf, sentence_chrf("hello here", {"hello world"}).score);
  EXPECT_EQ(scores.ter, sentence_ter("hello here", {"hello world"}).score);
  EXPECT_THROW((void)e.sentence_scores(2), UsageError);
}

TEST(Evaluation, RejectsSystemsThatDoNotFit) {
  EXPECT_THROW(Evaluation({}, {{"a"}}), InputError);
  EXPECT_THROW(Evaluation({{"a", {"x"}}}, {}), InputError);
  EXPECT_THROW(Evaluation({{"a", {}}}, {{}}), InputError);
  EXPECT_THROW(Evaluation({{"a", {"x"}}, {"b", {"x", "y"}}}, {{"x"}}), InputError);
  EXPECT_THROW((void)example().by_length(Lines{"x"}), InputError);
}

TEST(EvaluationTable, AlignsColumnsAndMarksSignificantDifferences) {
  std::vector<SystemResult> results = {
      {.name = "short", .metrics = {{.name = "BLEU", .signature = "nrefs:1", .score = 36.2}}, .sentences = 4},
      {.name = "a longer name",
       .metrics = {{.name = "BLEU", .signature = "nrefs:1", .score = 37.5, .p_value = 0.0123}},
       .exact_matches = 1,
       .sentences = 4}};
  EXPECT_EQ(results_table(results),
            "system         BLEU                 exact match\n"
            "short          36.20                0.0000\n"
            "a longer name  37.50 (p = 0.0123)*  0.2500\n"
            "\n"
            "BLEU|nrefs:1\n"
            "p: the probability of such a difference from short if both were equally good; *: below 0.05, and the "
            "scores differ\n");
  results[1].metrics[0].score = 36.2;
  EXPECT_EQ(results_table(results).find(")*"), std::string::npos) << "a system does not differ from itself";
  results[1].metrics[0] = {.name = "BLEU", .signature = "nrefs:1", .score = 37.5, .p_value = 0.05};
  EXPECT_EQ(results_table(results).find(")*"), std::string::npos);
  EXPECT_EQ(results_json(results)[1]["BLEU"]["p_value"].get<double>(), 0.05);
  EXPECT_EQ(results_json(results)[1]["exact match"]["matches"].get<int64_t>(), 1);
}

TEST(EvaluationTable, ListsLengthsBySystem) {
  const std::vector<LengthBucket> buckets = example().by_length(example().references()[0]);
  const std::string table = length_table(buckets, "reference words");
  EXPECT_EQ(table.substr(0, table.find("BLEU")), "reference words  sentences  system  ");
  EXPECT_NE(table.find("\n<10              2          a       "), std::string::npos) << table;
  EXPECT_NE(table.find("\n                            b       "), std::string::npos) << table;
  const Json json = length_json(buckets);
  EXPECT_EQ(json[1]["length"].text(), "10-19");
  EXPECT_EQ(json[1]["systems"][0]["system"].text(), "a");
  EXPECT_EQ(json[0]["sentences"].get<int64_t>(), 2);
}

}  // namespace qkv::evaluation_test
