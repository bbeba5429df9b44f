#include "qkv/metric/chrf.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"

namespace qkv::chrf_test {

using Lines = std::vector<std::string>;

TEST(Chrf, OfOneOrderIsTheFScoreOfCharacters) {
  // "abcd" has 4 characters, "abx" 3, two in common: P = 2/3, R = 2/4, and with beta 2: 5PR / (4P + R).
  const double p = 2.0 / 3, r = 2.0 / 4;
  EXPECT_NEAR(chrf(Lines{"abx"}, Lines{"abcd"}, {.character_order = 1}).score, 100 * 5 * p * r / (4 * p + r),
              1e-10);
}

TEST(Chrf, CountsCodePointsNotBytes) {
  EXPECT_NEAR(sentence_chrf("\u00e9\u00e8", {"\u00e9\u00e0"}, {.character_order = 1}).score, 50, 1e-10);
}

TEST(Chrf, SplitsOneMarkOffAWordForWordNgrams) {
  const ChrfOptions words{.character_order = 0, .word_order = 1};
  EXPECT_NEAR(sentence_chrf("(hi)", {"oh )"}, words).score, 50, 1e-10) << "(hi and )";
  EXPECT_NEAR(sentence_chrf("(hi", {"( hi"}, words).score, 100, 1e-10);
}

TEST(Chrf, OfEmptyLinesIsZeroNotNan) {
  EXPECT_EQ(chrf(Lines{""}, Lines{""}).score, 0);
  EXPECT_EQ(chrf(Lines{""}, Lines{"a"}).score, 0);
  EXPECT_EQ(chrf(Lines{"a"}, Lines{""}).score, 0);
}

TEST(Chrf, IsNamedAfterItsBetaAndWordOrder) {
  EXPECT_EQ(chrf(Lines{"a"}, Lines{"a"}, {.word_order = 2}).to_string(), "chrF2++ = 100.00");
  EXPECT_EQ(chrf(Lines{"a"}, Lines{"a"}, {.beta = 3}).to_string(), "chrF3 = 100.00");
}

TEST(Chrf, RejectsInvalidLinesAndOptions) {
  EXPECT_THROW(chrf(Lines{"a", "b"}, Lines{"a"}), InputError);
  EXPECT_THROW(chrf(Lines{}, Lines{}), InputError);
  EXPECT_THROW(chrf(Lines{"a"}, Lines{"a"}, {.character_order = 0}), UsageError);
  EXPECT_THROW(chrf(Lines{"a"}, Lines{"a"}, {.beta = 0}), UsageError);
}

TEST(Chrf, AcceptsAnyBytes) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    std::string said, wanted;
    for (uint64_t i = random.below(40); i > 0; --i) said += static_cast<char>(random.bits());
    for (uint64_t i = random.below(40); i > 0; --i) wanted += static_cast<char>(random.bits());
    const double score = sentence_chrf(said, {wanted}, {.word_order = 2, .lowercase = true}).score;
    EXPECT_TRUE(score >= 0 && score <= 100 + 1e-9) << score;
  }
}

}  // namespace qkv::chrf_test
