#include "qkv/metric/tokenize.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::tokenize_test {

std::string wmt13a(std::string_view line) { return tokenize(line, BleuTokenizer::wmt13a); }
std::string international(std::string_view line) { return tokenize(line, BleuTokenizer::international); }

TEST(Tokenize13a, KeepsNumbersAndSplitsPunctuation) {
  EXPECT_EQ(wmt13a("In 1,000.5 years (or so)."), "In 1,000.5 years ( or so ) .");
  EXPECT_EQ(wmt13a("10-15 well-known"), "10 - 15 well-known");
  EXPECT_EQ(wmt13a("don't"), "don't");
}

TEST(Tokenize13a, UndoesTheEscapesOfSgml) {
  EXPECT_EQ(wmt13a("&lt;a&gt; &amp;amp; <skipped>b"), "< a > & amp ; b");
}

TEST(Tokenize13a, SplitsARunOfDotsInTwosAsARegularExpressionDoes) {
  EXPECT_EQ(wmt13a("wait..."), "wait . . .");
  EXPECT_EQ(wmt13a("1..2"), "1 . . 2");
  EXPECT_EQ(wmt13a("1.5,.5"), "1.5 , . 5");
}

TEST(TokenizeInternational, SplitsUnicodePunctuationAndSymbols) {
  EXPECT_EQ(international("\u201eKommst du?\u201c 5\u20ac"), "\u201e Kommst du ? \u201c 5 \u20ac");
  EXPECT_EQ(international("1,5 in 1984."), "1,5 in 1984.") << "as mteval-v14 does: no mark follows the last point";
}

TEST(TokenizeCharacter, SplitsCodePointsNotBytes) {
  EXPECT_EQ(tokenize("a \u00e9\u4e2d", BleuTokenizer::character), "a \u00e9 \u4e2d");
}

TEST(TokenizeNone, OnlyJoinsWhiteSpace) { EXPECT_EQ(tokenize("  a.\u00a0b\tc ", BleuTokenizer::none), "a. b c"); }

TEST(Tokenize, KeepsStrayBytes) { EXPECT_EQ(tokenize("a\xff z\xc3", BleuTokenizer::none), "a\xff z\xc3"); }

TEST(Tokenize, KnowsTokenizersByTheirSacreBleuNames) {
  EXPECT_EQ(value_named<BleuTokenizer>("intl", "bleu", "tokenizer"), BleuTokenizer::international);
  EXPECT_EQ(name_of(BleuTokenizer::wmt13a), "13a");
  EXPECT_THROW(value_named<BleuTokenizer>("zh", "bleu", "tokenizer"), UsageError);
}

}  // namespace qkv::tokenize_test
