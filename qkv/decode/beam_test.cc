#include "qkv/decode/beam.h"

#include <cmath>

#include <gtest/gtest.h>

namespace qkv {
namespace {

// Five tokens: 0 and 1 are never chosen, 2 is the end, 3 and 4 are words. Rows of probabilities of end, 3 and 4.
TopTokens rows(std::initializer_list<std::array<double, 3>> probabilities, int64_t beam) {
  std::vector<float> logits;
  for (const auto& p : probabilities) {
    logits.insert(logits.end(), {-1000.0f, -1000.0f});
    for (const double x : p) logits.push_back(static_cast<float>(std::log(x)));
  }
  return top_tokens(Tensor::from(logits, {static_cast<int64_t>(probabilities.size()), 5}), beam,
                    {.end = 2, .never = {0, 1}});
}

using Ids = std::vector<int32_t>;

TEST(Beam, GreedyEndsWhenTheEndIsTheLikeliest) {
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
  ASSERT_TRUE(beam.done());  // both best continuations were ends
  EXPECT_EQ(beam.take_best()[0].ids, (Ids{4}));
}

TEST(Beam, AHypothesisRemembersItsParent) {
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

TEST(Beam, AnEndOutsideTheBestContinuationsDoesNotEndAnything) {
  Beam beam({.beam = 2, .length_penalty = 0}, 10);
  beam.advance(rows({{0.2, 0.4, 0.4}}, 2), 0);  // the end is third
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

TEST(Beam, LengthBoundsHold) {
  Beam least({.beam = 1, .min_length = 2}, 10);
  for (int i = 0; i < 2; ++i) least.advance(rows({{0.98, 0.01, 0.01}}, 1), 0);
  EXPECT_FALSE(least.done());
  least.advance(rows({{0.98, 0.01, 0.01}}, 1), 0);
  ASSERT_TRUE(least.done());
  EXPECT_EQ(least.take_best()[0].ids, (Ids{3, 3}));

  Beam most({.beam = 1, .length_penalty = 0}, 2);
  for (int i = 0; i < 3; ++i) most.advance(rows({{0.1, 0.1, 0.8}}, 1), 0);
  ASSERT_TRUE(most.done());
  const Hypothesis answer = most.take_best()[0];
  EXPECT_EQ(answer.ids, (Ids{4, 4}));
  EXPECT_NEAR(answer.log_probability, std::log(0.8 * 0.8 * 0.1), 1e-6) << "it pays for its forced end";
}

TEST(Beam, TheScoreIsTheLengthPenaltyOfWuAndOthers) {
  EXPECT_DOUBLE_EQ(length_penalty(1, 0.6), 1.0);
  EXPECT_DOUBLE_EQ(length_penalty(7, 1.0), 2.0);
  EXPECT_DOUBLE_EQ(length_penalty(30, 0.0), 1.0);
  Beam beam({.beam = 1, .length_penalty = 0.6}, 10);
  beam.advance(rows({{0.1, 0.1, 0.8}}, 1), 0);
  beam.advance(rows({{0.8, 0.1, 0.1}}, 1), 0);
  const Hypothesis answer = beam.take_best()[0];
  EXPECT_NEAR(answer.score, std::log(0.64) / std::pow(7.0 / 6.0, 0.6), 1e-6);
}

TEST(Beam, StopsOnlyWhenNothingOpenCanWin) {
  // The empty answer ends at once with 0.5; the open ones hold 0.3 and 0.2: none can overtake it.
  Beam sure({.beam = 2, .length_penalty = 0}, 10);
  sure.advance(rows({{0.5, 0.3, 0.2}}, 2), 0);
  EXPECT_TRUE(sure.done());
  // With a length penalty a longer answer may still be the better one.
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

}  // namespace
}  // namespace qkv
