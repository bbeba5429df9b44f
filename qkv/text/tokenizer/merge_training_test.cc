#include "qkv/text/tokenizer/merge_training.h"

#include <gtest/gtest.h>

namespace qkv::merge_training_test {

using Strings = std::vector<std::string>;

Strings merged(const MergeTraining& t) {
  Strings out;
  for (const auto& [a, b] : t.merges)
    out.push_back(t.tokens.at(static_cast<size_t>(a)) + " " + t.tokens.at(static_cast<size_t>(b)));
  return out;
}

TEST(MergeTraining, MergesTheMostFrequentPairFirst) {
  const MergeTraining t = train_merges({{"low", 5}, {"lower", 2}, {"newest", 6}, {"widest", 3}}, {});
  Strings first = merged(t);
  first.resize(4);
  EXPECT_EQ(first, (Strings{"e s", "es t", "l o", "lo w"}));
  EXPECT_EQ(Strings(t.tokens.begin(), t.tokens.begin() + 10),
            (Strings{"d", "e", "i", "l", "n", "o", "r", "s", "t", "w"}));
}

TEST(MergeTraining, CountsPairsThatOverlapInAWord) {
  EXPECT_EQ(merged(train_merges({{"aaaaa", 2}}, {})), (Strings{"a a", "aa a", "aa aaa"}));
  EXPECT_EQ(merged(train_merges({{"ababab", 3}, {"ba", 2}}, {})), (Strings{"a b", "ab ab", "abab ab", "b a"}));
}

TEST(MergeTraining, EndsAtTheSizeAndAtRarePairs) {
  const WordCounts words{{"ab", 4}, {"cd", 2}, {"ef", 1}};
  EXPECT_EQ(merged(train_merges(words, {})), (Strings{"a b", "c d"}));
  EXPECT_EQ(train_merges(words, {.vocabulary_size = 7}).tokens, (Strings{"a", "b", "c", "d", "e", "f", "ab"}));
  EXPECT_EQ(merged(train_merges(words, {.min_count = 1})).size(), 3u);
}

TEST(MergeTraining, ReservesTokensAndMarksWhatContinuesAWord) {
  const MergeTraining t = train_merges({{"aba", 3}}, {.reserved = {"[PAD]"}, .prefix = "##"});
  EXPECT_EQ(t.tokens, (Strings{"[PAD]", "a", "b", "##b", "##a", "ab", "aba"})) << "of a word its beginning";
}

TEST(MergeTraining, LeavesOutCharactersThatAreNotInTheAlphabet) {
  EXPECT_EQ(train_merges({{"a\u00e9b", 3}}, {.alphabet = {"a", "b"}}).tokens, (Strings{"a", "b", "ab"}));
}

}  // namespace qkv::merge_training_test
