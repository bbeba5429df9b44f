#include "qkv/metric/bleu.h"

#include <cmath>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv::bleu_test {

using Lines = std::vector<std::string>;

TEST(Bleu, ClipsMatchesAsInThePaper) {
  // Papineni et al., section 2.1: "the" occurs twice in the reference, so 2 of 7 count.
  const BleuScore score =
      bleu(Lines{"the the the the the the the"}, Lines{"the cat is on the mat"}, {.max_order = 1});
  EXPECT_EQ(score.matches[0], 2);
  EXPECT_EQ(score.totals[0], 7);
  EXPECT_NEAR(score.score, 100.0 * 2 / 7, 1e-12);
}

TEST(Bleu, IsTheGeometricMeanTimesTheBrevityPenalty) {
  const BleuScore score = bleu(Lines{"a b c d e"}, Lines{"a b c d x y"}, {.tokenizer = BleuTokenizer::none});
  const double mean = std::pow((4.0 / 5) * (3.0 / 4) * (2.0 / 3) * (1.0 / 2), 0.25);
  EXPECT_NEAR(score.score, 100 * std::exp(1 - 6.0 / 5) * mean, 1e-10);
}

TEST(Bleu, TakesTheClosestReferenceLengthOrTheShorterOfTwo) {
  const std::vector<Lines> references{{"a b c d e f"}, {"a b"}, {"a b c d"}};
  EXPECT_EQ(bleu(Lines{"a b c"}, references, {.tokenizer = BleuTokenizer::none}).reference_length, 2);
  EXPECT_EQ(bleu(Lines{"a b c d e"}, references, {.tokenizer = BleuTokenizer::none}).reference_length, 4);
}

TEST(Bleu, OfAnEmptyTranslationIsZeroNotNan) {
  EXPECT_EQ(bleu(Lines{""}, Lines{""}).score, 0);
  EXPECT_EQ(bleu(Lines{""}, Lines{"a"}).score, 0);
  EXPECT_EQ(bleu(Lines{"a"}, Lines{""}).score, 0);
  EXPECT_EQ(bleu(Lines{"a"}, Lines{"a"}, {.smoothing = BleuSmoothing::none}).score, 0) << "no 4-gram, no smoothing";
  EXPECT_NEAR(sentence_bleu("a", {"a"}).score, 100, 1e-10) << "but with effective order";
}

TEST(Bleu, RejectsInvalidLinesAndOptions) {
  try {
    bleu(Lines{"a", "b"}, Lines{"a"});
    FAIL();
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "bleu: 2 hypotheses but 1 reference: lines must match one to one");
  }
  EXPECT_THROW(bleu(Lines{}, Lines{}), InputError);
  EXPECT_THROW(bleu(Lines{"a"}, std::vector<Lines>{}), InputError);
  EXPECT_THROW(bleu(Lines{"a"}, std::vector<Lines>{{"a"}, {}}), InputError);
  EXPECT_THROW(bleu(Lines{"a"}, Lines{"a"}, {.max_order = 0}), UsageError);
}

TEST(Bleu, AcceptsAnyBytes) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    std::string said, wanted;
    for (uint64_t i = random.below(40); i > 0; --i) said += static_cast<char>(random.bits());
    for (uint64_t i = random.below(40); i > 0; --i) wanted += static_cast<char>(random.bits());
    for (const auto tokenizer :
         {BleuTokenizer::wmt13a, BleuTokenizer::international, BleuTokenizer::character, BleuTokenizer::none}) {
      const BleuOptions options{.tokenizer = tokenizer, .lowercase = true, .effective_order = true};
      const double score = sentence_bleu(said, {wanted}, options).score;
      EXPECT_TRUE(score >= 0 && score <= 100 + 1e-9) << score;
      EXPECT_GE(sentence_bleu(said, {said}, options).score, said.empty() ? 0.0 : score);
    }
  }
}

}  // namespace qkv::bleu_test
