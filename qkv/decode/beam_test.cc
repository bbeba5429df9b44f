#include "qkv/decode/beam.h"

#include <cmath>

#include <gtest/gtest.h>

namespace qkv::beam_test {

// Five tokens: 0 and 1 are suppressed, 2 is eos. Rows of the probabilities of eos, 3 and 4.
TopTokens rows(std::initializer_list<std::array<double, 3>> probabilities, int64_t beam) {
  std::vector<float> logits;
  for (const auto& p : probabilities) {
    for (int suppressed = 0; suppressed < 2; ++suppressed) logits.push_back(-1000.0f);
    for (const double x : p) logits.push_back(static_cast<float>(std::log(x)));
  }
  return top_tokens(Tensor::from(logits, {static_cast<int64_t>(probabilities.size()), 5}), beam,
                    {.eos = 2, .suppress_tokens = {0, 1}});
}

using Ids = std::vector<int32_t>;

TEST(Beam, GreedyEndsWhenEosIsTheMostLikely) {
  Beam beam({.beam = 1, .length_penalty = 0}, 10);
  beam.advance(rows({{0.3, 0.3, 0.4}}, 1), 0);
  ASSERT_FALSE(beam.done());
  EXPECT_EQ(beam.live()[0].ids, (Ids{4}));
  beam.advance(rows({{0.5, 0.3, 0.2}}, 1), 0);
  ASSERT_TRUE(beam.done());
  const std::vector<Hypothesis> best = beam.take_best();
  ASSERT_EQ(best.size(), 1u);
  EXPECT_EQ(best[0].ids, (Ids{4}));
  EXPECT_NEAR(best[0].log_probability, std::log(0.4 * 0.5), 1e-6);
}

TEST(Beam, FindsWhatGreedyMisses) {
  Beam beam({.beam = 2, .length_penalty = 0}, 10);
  beam.advance(rows({{0.01, 0.5, 0.49}}, 2), 0);
  ASSERT_EQ(beam.live().size(), 2u);
  EXPECT_EQ(beam.live()[0].ids, (Ids{3}));
  EXPECT_EQ(beam.live()[1].ids, (Ids{4}));
  beam.advance(rows({{0.4, 0.3, 0.3}, {0.98, 0.01, 0.01}}, 2), 0);
  ASSERT_TRUE(beam.done());  // both best continuations were eos
  EXPECT_EQ(beam.take_best()[0].ids, (Ids{4}));
}

TEST(Beam, AHypothesisKnowsItsParent) {
  Beam beam({.beam = 2}, 10);
  beam.advance(rows({{0.01, 0.6, 0.39}}, 2), 0);
  beam.advance(rows({{0.01, 0.01, 0.98}, {0.01, 0.98, 0.01}}, 2), 0);
  ASSERT_EQ(beam.live().size(), 2u);
  EXPECT_EQ(beam.live()[0].parent, 0);
  EXPECT_EQ(beam.live()[0].ids, (Ids{3, 4}));
  EXPECT_EQ(beam.live()[1].parent, 1);
  EXPECT_EQ(beam.live()[1].ids, (Ids{4, 3}));
  beam.advance(rows({{0.01, 0.01, 0.98}, {0.005, 0.5, 0.495}}, 2), 0);
  EXPECT_EQ(beam.live()[1].ids, (Ids{4, 3, 3}));
}

TEST(Beam, TheFirstOfEachParentKeepsItsRow) {
  Beam beam({.beam = 3, .length_penalty = 0}, 10);
  beam.advance(rows({{0.01, 0.5, 0.49}}, 3), 0);
  beam.advance(rows({{0.01, 0.09, 0.9}, {0.02, 0.5, 0.48}}, 3), 0);
  ASSERT_EQ(beam.live().size(), 3u);  // 3 4, 4 3, 4 4
  beam.keep_rows(3);
  EXPECT_EQ(beam.live()[0].row, 0);
  EXPECT_EQ(beam.live()[1].row, 1);
  EXPECT_EQ(beam.live()[2].row, 2);
  EXPECT_EQ(beam.live()[2].row_before, 1);
  // 4 4 goes on twice and 3 4 once; row 1 is free for the second of them.
  beam.advance(rows({{0.01, 0.9, 0.09}, {0.998, 0.001, 0.001}, {0.01, 0.5, 0.49}}, 3), 0);
  beam.keep_rows(3);
  ASSERT_EQ(beam.live().size(), 3u);
  EXPECT_EQ(beam.live()[0].ids, (Ids{3, 4, 3}));
  EXPECT_EQ(beam.live()[0].row, 0);
  EXPECT_EQ(beam.live()[1].ids, (Ids{4, 4, 3}));
  EXPECT_EQ(beam.live()[1].row, 2);
  EXPECT_EQ(beam.live()[2].ids, (Ids{4, 4, 4}));
  EXPECT_EQ(beam.live()[2].row, 1);
  // The probabilities of 4 4 4 are in row 1 now.
  beam.advance(rows({{0.98, 0.01, 0.01}, {0.001, 0.001, 0.998}, {0.98, 0.01, 0.01}}, 3), 0);
  EXPECT_EQ(beam.live()[0].ids, (Ids{4, 4, 4, 4}));
}

TEST(Beam, EosOutsideTheBestContinuationsFinishesNothing) {
  Beam beam({.beam = 2, .length_penalty = 0}, 10);
  beam.advance(rows({{0.2, 0.4, 0.4}}, 2), 0);  // eos is third
  EXPECT_FALSE(beam.done());
  beam.advance(rows({{0.02, 0.49, 0.49}, {0.02, 0.49, 0.49}}, 2), 0);
  beam.advance(rows({{0.98, 0.01, 0.01}, {0.98, 0.01, 0.01}}, 2), 0);
  ASSERT_TRUE(beam.done());
  EXPECT_EQ(beam.take_best()[0].ids.size(), 2u);
}

TEST(Beam, TiesGoToTheFirstHypothesisAndTheLowerId) {
  Beam beam({.beam = 2}, 10);
  beam.advance(rows({{0.2, 0.4, 0.4}}, 2), 0);
  EXPECT_EQ(beam.live()[0].ids, (Ids{3}));
  beam.advance(rows({{0.2, 0.4, 0.4}, {0.2, 0.4, 0.4}}, 2), 0);
  EXPECT_EQ(beam.live()[0].ids, (Ids{3, 3}));
  EXPECT_EQ(beam.live()[1].ids, (Ids{3, 4}));
}

// Scores are log-probabilities by length.
SearchOptions mean_log_probability(int64_t beam) {
  SearchOptions options;
  options.beam = beam;
  options.length_normalization = LengthNormalization::power;
  return options;
}

TEST(Beam, WithoutEarlyStoppingContinuesWhileALiveHypothesisIsBetter) {
  const auto best_with = [](bool early_stopping) {
    SearchOptions options = mean_log_probability(2);
    options.early_stopping = early_stopping;
    Beam beam(options, 10);
    beam.advance(rows({{0.34, 0.33, 0.33}}, 2), 0);                     // finishes the empty one
    beam.advance(rows({{0.5, 0.49, 0.01}, {0.01, 0.01, 0.98}}, 2), 0);  // and "3"; "4 4" is better than both
    while (!beam.done()) beam.advance(rows({{0.98, 0.01, 0.01}, {0.98, 0.01, 0.01}}, 2), 0);
    return beam.take_best()[0].ids;
  };
  EXPECT_EQ(best_with(true), (Ids{3}));
  EXPECT_EQ(best_with(false), (Ids{4, 4}));
}

TEST(Beam, AHypothesisOfMaximumLengthMayEndWithoutEos) {
  SearchOptions options = mean_log_probability(1);
  options.eos_at_max_length = false;
  Beam beam(options, 2);
  for (int i = 0; i < 2; ++i) beam.advance(rows({{0.1, 0.1, 0.8}}, 1), 0);
  ASSERT_TRUE(beam.done());
  const Hypothesis hypothesis = beam.take_best()[0];
  EXPECT_EQ(hypothesis.ids, (Ids{4, 4}));
  EXPECT_NEAR(hypothesis.score, std::log(0.8), 1e-6) << "over 2 tokens";
}

TEST(Beam, AForcedTokenCountsInTheLengthAlone) {
  SearchOptions options = mean_log_probability(2);
  Beam beam(options, 10);
  beam.advance(forced_token(1, 4), 0);
  ASSERT_EQ(beam.live().size(), 1u);
  EXPECT_EQ(beam.live()[0].ids, (Ids{4}));
  EXPECT_EQ(beam.live()[0].log_probability, 0);
  beam.advance(rows({{0.9, 0.05, 0.05}}, 2), 0);
  while (!beam.done()) beam.advance(rows({{0.9, 0.05, 0.05}, {0.9, 0.05, 0.05}}, 2), 0);
  EXPECT_NEAR(beam.take_best()[0].score, std::log(0.9) / 2, 1e-6);
}

TEST(Beam, LengthBoundsHold) {
  Beam min_two({.beam = 1, .min_length = 2}, 10);
  for (int i = 0; i < 2; ++i) min_two.advance(rows({{0.98, 0.01, 0.01}}, 1), 0);
  EXPECT_FALSE(min_two.done());
  min_two.advance(rows({{0.98, 0.01, 0.01}}, 1), 0);
  ASSERT_TRUE(min_two.done());
  EXPECT_EQ(min_two.take_best()[0].ids, (Ids{3, 3}));

  Beam max_two({.beam = 1, .length_penalty = 0}, 2);
  for (int i = 0; i < 3; ++i) max_two.advance(rows({{0.1, 0.1, 0.8}}, 1), 0);
  ASSERT_TRUE(max_two.done());
  const Hypothesis hypothesis = max_two.take_best()[0];
  EXPECT_EQ(hypothesis.ids, (Ids{4, 4}));
  EXPECT_NEAR(hypothesis.log_probability, std::log(0.8 * 0.8 * 0.1), 1e-6) << "with that of eos at max_length";
}

TEST(Beam, TheScoreIsTheLengthPenaltyOfWuAndOthers) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.6), 1.0);
  EXPECT_DOUBLE_EQ(length_penalty(7, 1.0), 2.0);
  EXPECT_DOUBLE_EQ(length_penalty(30, 0.0), 1.0);
  Beam beam({.beam = 1, .length_penalty = 0.6}, 10);
  beam.advance(rows({{0.1, 0.1, 0.8}}, 1), 0);
  beam.advance(rows({{0.8, 0.1, 0.1}}, 1), 0);
  const Hypothesis hypothesis = beam.take_best()[0];
  EXPECT_NEAR(hypothesis.score, std::log(0.64) / std::pow(7.0 / 6.0, 0.6), 1e-6);
}

TEST(Beam, PowerDividesByTheLengthToThePowerOfAlpha) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.6, LengthNormalization::power), 1.0);
  EXPECT_DOUBLE_EQ(length_penalty(7, 2.0, LengthNormalization::power), 49.0);
  EXPECT_DOUBLE_EQ(length_penalty(30, 0.0, LengthNormalization::power), 1.0);
  Beam beam({.beam = 1, .length_penalty = 0.6, .length_normalization = LengthNormalization::power}, 10);
  beam.advance(rows({{0.1, 0.1, 0.8}}, 1), 0);
  beam.advance(rows({{0.8, 0.1, 0.1}}, 1), 0);
  EXPECT_NEAR(beam.take_best()[0].score, std::log(0.64) / std::pow(2.0, 0.6), 1e-6);
}

// The empty hypothesis is finished with 0.9, the best live one has 0.07. With 10 more tokens it could at best score
// log 0.07 / 2^alpha to log 0.07 / 11^alpha.
TEST(Beam, TheBoundOfTheSearchIsThatOfItsNormalization) {
  const auto stops = [](double alpha, LengthNormalization normalization) {
    Beam beam({.beam = 2, .length_penalty = alpha, .length_normalization = normalization}, 10);
    beam.advance(rows({{0.9, 0.07, 0.03}}, 2), 0);
    return beam.done();
  };
  const double ratio = std::log(0.07) / std::log(0.9);  // 25.2
  const double power = std::log(ratio) / std::log(11.0), wu = std::log(ratio) / std::log(16.0 / 6.0);
  EXPECT_TRUE(stops(power - 0.01, LengthNormalization::power));
  EXPECT_FALSE(stops(power + 0.01, LengthNormalization::power));
  EXPECT_TRUE(stops(wu - 0.01, LengthNormalization::wu));
  EXPECT_FALSE(stops(wu + 0.01, LengthNormalization::wu));
  for (const auto normalization : {LengthNormalization::wu, LengthNormalization::power})
    EXPECT_TRUE(stops(-1.0, normalization)) << "a negative alpha: a longer one is worse";
}

TEST(Beam, StopsOnlyWhenNoLiveHypothesisCanWin) {
  // The empty hypothesis is finished with 0.5; the live ones have 0.3 and 0.2.
  Beam sure({.beam = 2, .length_penalty = 0}, 10);
  sure.advance(rows({{0.5, 0.3, 0.2}}, 2), 0);
  EXPECT_TRUE(sure.done());
  // With a length penalty a longer hypothesis may still be better.
  Beam open({.beam = 2, .length_penalty = 1.0}, 10);
  open.advance(rows({{0.5, 0.3, 0.2}}, 2), 0);
  EXPECT_FALSE(open.done());
}

TEST(Beam, NBestAreSortedByScore) {
  Beam beam({.beam = 3, .length_penalty = 0, .n_best = 2}, 1);
  beam.advance(rows({{0.1, 0.3, 0.6}}, 3), 0);
  beam.advance(rows({{0.1, 0.5, 0.4}, {0.9, 0.05, 0.05}}, 3), 0);
  ASSERT_TRUE(beam.done());
  const std::vector<Hypothesis> best = beam.take_best();
  ASSERT_EQ(best.size(), 2u);
  EXPECT_EQ(best[0].ids, (Ids{3}));  // 0.3 0.9
  EXPECT_EQ(best[1].ids, (Ids{}));   // 0.1, before 0.6 0.1
}

}  // namespace qkv::beam_test
