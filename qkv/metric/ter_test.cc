#include "qkv/metric/ter.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/metric/edits.h"

namespace qkv::ter_test {

using Lines = std::vector<std::string>;

TEST(Edits, CountsInsertionsDeletionsAndReplacements) {
  EXPECT_EQ(metric::edits(U"abc", U"abc"), 0);
  EXPECT_EQ(metric::edits(U"abc", U"abxc"), 1);
  EXPECT_EQ(metric::edits(U"abc", U"ac"), 1);
  EXPECT_EQ(metric::edits(U"abc", U"axc"), 1);
  EXPECT_EQ(metric::edits(U"", U"abc"), 3);
  EXPECT_EQ(metric::edits(U"abc", U""), 3);
  EXPECT_EQ(metric::edits(U"", U""), 0);
}

TEST(Edits, CountsTheMoveOfABlockAsOne) {
  EXPECT_EQ(metric::edits(U"abcdefgh", U"efghabcd"), 1);
  EXPECT_EQ(metric::edits(U"cabd", U"abcd"), 1);
  EXPECT_EQ(metric::edits(U"xcaby", U"xabcz"), 2);
}

TEST(Edits, StaysWithinItsBounds) {
  Random random(17);
  for (int round = 0; round < 300; ++round) {
    const auto sentence = [&] {
      std::u32string words(round % 50 ? random.below(12) : random.below(150), U'a');
      for (char32_t& word : words) word += static_cast<char32_t>(random.below(4));
      return words;
    };
    const std::u32string hypothesis = sentence(), reference = sentence();
    const auto n = static_cast<size_t>(metric::edits(hypothesis, reference));
    const size_t longer = std::max(hypothesis.size(), reference.size()),
                 shorter = std::min(hypothesis.size(), reference.size());
    EXPECT_LE(n, longer);
    EXPECT_GE(n, longer - shorter);
  }
}

TEST(Ter, CountsTheEditsOfThePapersExample) {
  // Snover et al., section 2: "this week" moves, two words replace "the Saudis", "American" is inserted.
  const Lines reference{"SAUDI ARABIA denied THIS WEEK information published in the AMERICAN new york times"};
  const Lines hypothesis{"THIS WEEK THE SAUDIS denied information published in the new york times"};
  const TerScore score = ter(hypothesis, reference);
  EXPECT_EQ(score.edits, 4);
  EXPECT_EQ(score.reference_length, 13);
  EXPECT_NEAR(score.score, 100.0 * 4 / 13, 1e-12);
}

TEST(Ter, HandlesEmptyLines) {
  EXPECT_EQ(ter(Lines{""}, Lines{""}).score, 0);
  EXPECT_EQ(ter(Lines{"a"}, Lines{""}).score, 100);
  EXPECT_EQ(ter(Lines{""}, Lines{"a b"}).score, 100);
  EXPECT_THROW(ter(Lines{"a", "b"}, Lines{"a"}), InputError);
}

TEST(Ter, AcceptsAnyBytes) {
  Random random(19);
  for (int round = 0; round < 100; ++round) {
    std::string said, wanted;
    for (uint64_t i = random.below(40); i > 0; --i)
      said += random.below(4) ? static_cast<char>(random.bits()) : ' ';
    for (uint64_t i = random.below(40); i > 0; --i)
      wanted += random.below(4) ? static_cast<char>(random.bits()) : ' ';
    EXPECT_GE(sentence_ter(said, {wanted}, {.normalized = true, .no_punctuation = true}).score, 0);
    EXPECT_EQ(sentence_ter(said, {said}).edits, 0);
  }
}

}  // namespace qkv::ter_test
