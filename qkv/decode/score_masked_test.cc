#include "qkv/decode/score_masked.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::score_masked_test {

constexpr int32_t mask = 12;

MaskedTransformer small() {
  TransformerConfig c;
  c.architecture = Architecture::masked;
  c.source_vocabulary = c.target_vocabulary = 13;
  c.d_model = 16;
  c.heads = 2;
  c.ffn = 24;
  c.encoder_layers = 2;
  c.dropout = 0;
  return MaskedTransformer(c, 5);
}

using Ids = std::vector<int32_t>;
const std::vector<Ids> texts = {{1, 4, 5, 6, 7, 8, 9, 10, 11, 3, 2}, {1, 9, 2}, {1, 2}, {1, 5, 5, 6, 2}};

// log p(token at that position | the text with these positions masked), by a pass of its own.
double log_probability(const MaskedTransformer& model, Ids text, const std::vector<size_t>& masked, size_t at) {
  const int32_t token = text[at];
  for (const size_t i : masked) text[i] = mask;
  const NoGrad guard;
  Pass pass;
  const auto T = std::ssize(text);
  const Tensor logits =
      model.logits(model.encode(Tensor::from(text, {1, T}), {static_cast<int32_t>(T)}, pass)).value();
  const float* row = logits.data<float>() + static_cast<int64_t>(at) * 13;
  double sum = 0;
  for (int i = 0; i < 13; ++i) sum += std::exp(double{row[i]});
  return double{row[token]} - std::log(sum);
}

TEST(ScoreMasked, EachTokenIsPredictedFromTheTextInWhichItAndEverySeventhAreMasked) {
  const MaskedTransformer model = small();
  const auto scores = score_masked(model, texts, {.mask = mask, .before = 1, .after = 1});
  ASSERT_EQ(scores.size(), texts.size());
  for (size_t d = 0; d < texts.size(); ++d) {
    ASSERT_EQ(scores[d].token_log_probabilities.size(), texts[d].size() - 2);
    double sum = 0;
    for (size_t i = 1; i + 1 < texts[d].size(); ++i) {
      std::vector<size_t> masked;
      for (size_t j = 1; j + 1 < texts[d].size(); ++j)
        if (j % 7 == i % 7) masked.push_back(j);
      const double wanted = log_probability(model, texts[d], masked, i);
      EXPECT_NEAR(scores[d].token_log_probabilities[i - 1], wanted, 1e-4) << d << " " << i;
      sum += wanted;
    }
    EXPECT_NEAR(scores[d].log_probability, sum, 1e-3);
  }
}

TEST(ScoreMasked, FarApartEachIsPredictedFromAllOthers) {
  const MaskedTransformer model = small();
  const auto scores = score_masked(model, texts, {.mask = mask, .apart = 100, .before = 1, .after = 1});
  for (size_t i = 1; i + 1 < texts[0].size(); ++i)
    EXPECT_NEAR(scores[0].token_log_probabilities[i - 1], log_probability(model, texts[0], {i}, i), 1e-4);
}

TEST(ScoreMasked, AScoreDoesNotDependOnTheOtherTexts) {
  const MaskedTransformer model = small();
  const auto together = score_masked(model, texts, {.mask = mask, .before = 1, .after = 1});
  std::vector<int64_t> progress;
  for (size_t d = 0; d < texts.size(); ++d) {
    const auto alone =
        score_masked(model, std::span(&texts[d], 1), {.mask = mask, .batch_tokens = 1, .before = 1, .after = 1},
                     [&](int64_t done) { progress.push_back(done); });
    EXPECT_EQ(alone[0].token_log_probabilities, together[d].token_log_probabilities) << d;
  }
  EXPECT_EQ(progress.back(), 1);
}

TEST(ScoreMasked, WhatDoesNotFitIsRefused) {
  EXPECT_THROW(score_masked(small(), texts, {.mask = 13}), UsageError);
  EXPECT_THROW(score_masked(small(), texts, {.mask = -1}), UsageError);
  EXPECT_THROW(score_masked(small(), texts, {.mask = mask, .apart = 0}), UsageError);
}

}  // namespace qkv::score_masked_test
