#include "qkv/metric/perplexity.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::perplexity_test {

using Ids = std::vector<int32_t>;

TEST(Perplexity, IsTheInverseOfTheGeometricMeanOfTheProbabilities) {
  LanguageModelScore score;
  score.add(-std::log(0.5) - std::log(0.25), 2);
  LanguageModelScore other;
  other.add(-std::log(0.125), 1);
  score.add(other);
  EXPECT_EQ(score.tokens, 3);
  EXPECT_NEAR(score.perplexity(), 4.0, 1e-12);
  EXPECT_NEAR(score.cross_entropy(), std::log(4.0), 1e-12);
  EXPECT_EQ(LanguageModelScore().perplexity(), 1.0);
}

TEST(Accuracy, CountsTargetsWithTheLargestLogit) {
  const Tensor logits = Tensor::from(
      {0.0f, 2.0f, 1.0f, 3.0f, 3.0f, 0.0f, 1.0f, 1.0f, 1.0f, 5.0f, 0.0f, 0.0f, 0.0f, 0.0f, 9.0f}, {5, 3});
  const Accuracy got = accuracy(logits, Tensor::from(Ids{1, 1, 0, -1, 2}, {5}));
  EXPECT_EQ(got.correct, 3);  // rows 0, 2 and 4; of the equal logits of row 1 the first counts
  EXPECT_EQ(got.total, 4);
  EXPECT_EQ(got.fraction(), 0.75);
  Accuracy sum = got;
  sum.add({.correct = 0, .total = 2});
  EXPECT_EQ(sum.fraction(), 0.5);
  EXPECT_EQ(Accuracy().fraction(), 0.0);
  EXPECT_EQ(accuracy(logits, Tensor::from(Ids{1, 1, 0, -100, 2}, {5}), -100).total, 4);
}

TEST(Unigram, ProbabilitiesAreSmoothedByAddingOne) {
  UnigramModel unigram(5);
  EXPECT_NEAR(std::exp(unigram.log_probability(3)), 0.2, 1e-12) << "uniform without counts";
  unigram.add(Ids{0, 0, 1});
  unigram.add(Ids{0, 2});
  double sum = 0;
  for (int32_t id = 0; id < 5; ++id) sum += std::exp(unigram.log_probability(id));
  EXPECT_NEAR(sum, 1.0, 1e-12);
  EXPECT_NEAR(std::exp(unigram.log_probability(0)), 4.0 / 10, 1e-12);
  EXPECT_NEAR(std::exp(unigram.log_probability(4)), 1.0 / 10, 1e-12);
  const LanguageModelScore score = unigram.score(Ids{0, 1, 4});
  EXPECT_EQ(score.tokens, 3);
  EXPECT_NEAR(score.perplexity(), std::pow(0.4 * 0.2 * 0.1, -1.0 / 3), 1e-12);
}

TEST(Perplexity, RejectsInvalidIdsAndShapes) {
  UnigramModel unigram(5);
  EXPECT_THROW(UnigramModel(0), Error);
  EXPECT_THROW(unigram.add(Ids{1, 5}), Error);
  EXPECT_NEAR(std::exp(unigram.log_probability(1)), 0.2, 1e-12) << "nothing was added";
  EXPECT_THROW(unigram.score(Ids{-1}), Error);
  EXPECT_THROW(accuracy(Tensor::zeros({2, 3}), Tensor::from(Ids{0, 3}, {2})), Error);
  EXPECT_THROW(accuracy(Tensor::zeros({2, 3}), Tensor::from(Ids{0}, {1})), Error);
  EXPECT_THROW(accuracy(Tensor::zeros({2, 3}), Tensor::zeros({2})), Error);
}

}  // namespace qkv::perplexity_test
