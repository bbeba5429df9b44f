// Answers with different first tokens, and answers with a prefix.
#include "qkv/decode/alternatives.h"

#include <set>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/model_test.h"
#include "qkv/decode/score.h"

namespace qkv::alternatives_test {

using Ids = std::vector<int32_t>;

class Prefixes : public ::testing::Test {
 protected:
  std::vector<std::vector<Hypothesis>> found(const SearchOptions& options, std::span<const Ids> prefixes = {}) {
    return search(model_, source_.ids, source_.lengths, options, {.prefixes = prefixes});
  }
  // The scores of whole targets, prefixes included.
  std::vector<TargetScore> scores(std::span<const Ids> targets) {
    return score_targets(model_, source_.ids, source_.lengths, targets);
  }

  const Transformer model_ = random_model(5);
  const std::vector<Ids> sentences_ = random_sentences(7, 8, 3);
  const PaddedBatch source_ = pad_batch(sentences_);
};

TEST_F(Prefixes, BeginTheAnswersWhoseScoresAreThoseOfTheRest) {
  const std::vector<Ids> prefixes = {{4, 5}, {}, {6}, {3, 3, 3, 3}, {7, 8}, {12}, {9, 10, 11}};
  for (const int64_t beam : {1, 3}) {
    const auto answers = found({.beam = beam, .max_length = 12}, prefixes);
    std::vector<Ids> whole;
    for (size_t i = 0; i < answers.size(); ++i) {
      const Ids& ids = answers[i].at(0).ids;
      ASSERT_GE(ids.size(), prefixes[i].size());
      EXPECT_TRUE(std::equal(prefixes[i].begin(), prefixes[i].end(), ids.begin()));
      EXPECT_LE(ids.size(), 12u);
      whole.push_back(ids);
    }
    const std::vector<TargetScore> expected = scores(whole);
    for (size_t i = 0; i < answers.size(); ++i) {
      double rest = 0;
      for (size_t t = prefixes[i].size(); t <= whole[i].size(); ++t) rest += expected[i].token_log_probabilities[t];
      EXPECT_NEAR(answers[i][0].log_probability, rest, 1e-4);
    }
  }
}

TEST_F(Prefixes, ThatAreTheFirstTokensOfAnAnswerLeadToItAgain) {
  const auto free = found({.beam = 1, .max_length = 12});
  std::vector<Ids> prefixes;
  for (const auto& answers : free)
    prefixes.emplace_back(answers[0].ids.begin(), answers[0].ids.begin() + answers[0].ids.size() / 2);
  const auto led = found({.beam = 1, .max_length = 12}, prefixes);
  for (size_t i = 0; i < free.size(); ++i) EXPECT_EQ(led[i][0].ids, free[i][0].ids);
}

TEST_F(Prefixes, AreAlignedLikeTheRest) {
  const std::vector<Ids> prefixes(sentences_.size(), {4, 5});
  const auto answers = found({.beam = 2, .max_length = 9, .alignment = true}, prefixes);
  for (size_t i = 0; i < answers.size(); ++i)
    EXPECT_EQ(answers[i][0].alignment.shape(), (Shape{std::ssize(answers[i][0].ids), source_.lengths[i]}));
}

TEST_F(Prefixes, MustBeAsManyAsSources) {
  const std::vector<Ids> prefixes(2);
  EXPECT_THROW(found({}, prefixes), Error);
}

TEST_F(Prefixes, AlternativesHaveTheMostLikelyFirstTokensAndTheScoresOfWholeAnswers) {
  const std::vector<Ids> prefixes(sentences_.size(), {4});
  for (const int64_t beam : {1, 4})
    for (const bool with_prefix : {false, true}) {
      const SearchOptions options = {.beam = beam, .n_best = 5, .alternatives = true, .max_length = 10};
      const auto answers = found(options, with_prefix ? std::span<const Ids>(prefixes) : std::span<const Ids>());
      const size_t at = with_prefix ? 1 : 0;
      for (size_t k = 0; k < 5; ++k) {
        std::vector<Ids> whole;
        for (const auto& of_sentence : answers) whole.push_back(of_sentence.at(k).ids);
        const std::vector<TargetScore> expected = scores(whole);
        for (size_t i = 0; i < answers.size(); ++i) {
          double rest = 0;
          for (size_t t = at; t <= whole[i].size(); ++t) rest += expected[i].token_log_probabilities[t];
          EXPECT_NEAR(answers[i][k].log_probability, rest, 1e-4);
          EXPECT_NEAR(answers[i][k].score,
                      rest / length_penalty(std::ssize(whole[i]) - std::ssize(prefixes[i]) * (at > 0) + 1, 1),
                      1e-4);
          if (k > 0) {
            EXPECT_LE(answers[i][k].score, answers[i][k - 1].score);
          }
        }
      }
      for (const auto& of_sentence : answers) {
        std::set<int32_t> first;
        for (const Hypothesis& answer : of_sentence) first.insert(answer.ids.at(at));
        EXPECT_EQ(first.size(), 5u);
      }
    }
}

TEST_F(Prefixes, AlternativesOfGreedySearchIncludeItsOwnAnswer) {
  const auto greedy = found({.beam = 1, .max_length = 10});
  const auto answers = found({.beam = 1, .n_best = 3, .alternatives = true, .max_length = 10});
  for (size_t i = 0; i < greedy.size(); ++i) {
    if (greedy[i][0].ids.empty()) continue;
    const bool same = std::any_of(answers[i].begin(), answers[i].end(),
                                  [&](const Hypothesis& answer) { return answer.ids == greedy[i][0].ids; });
    EXPECT_TRUE(same) << i;
  }
}

TEST_F(Prefixes, ThatFillTheModelHaveOneAnswer) {
  std::vector<Ids> prefixes(sentences_.size());
  prefixes[2].assign(39, 5);  // with bos all 40 positions
  const auto answers = found({.n_best = 3, .alternatives = true}, prefixes);
  ASSERT_EQ(answers[2].size(), 1u);
  EXPECT_EQ(answers[2][0].ids, prefixes[2]);
  EXPECT_EQ(answers[1].size(), 3u);
}

}  // namespace qkv::alternatives_test
