#include "qkv/text/unicode.h"

#include <gtest/gtest.h>

#include "qkv/text/utf8.h"

namespace qkv::unicode_test {

TEST(Unicode, KnowsTheCategories) {
  for (const char32_t c : std::u32string_view(U"!?.,;_-\u00ab\u2014\u2026\u3002\U0001056f"))
    EXPECT_TRUE(is_punctuation(c)) << static_cast<uint32_t>(c);
  for (const char32_t c : std::u32string_view(U"$+<=>^`|~\u20ac\u2665\U0001f355"))
    EXPECT_TRUE(is_symbol(c) && !is_punctuation(c)) << static_cast<uint32_t>(c);
  for (const char32_t c : std::u32string_view(U"07\u00bd\u0665\u2167\U0001d7d8"))
    EXPECT_TRUE(is_number(c)) << static_cast<uint32_t>(c);
  for (const char32_t c : std::u32string_view(U"aZ\u00e9\u4e2d \n"))
    EXPECT_FALSE(is_punctuation(c) || is_symbol(c) || is_number(c)) << static_cast<uint32_t>(c);
}

TEST(Unicode, HasNoCategoryForStrayBytes) {
  for (char32_t c = invalid_byte; c < invalid_byte + 256; ++c)
    EXPECT_FALSE(is_space(c) || is_punctuation(c) || is_symbol(c) || is_number(c));
}

TEST(Unicode, LowerCases) {
  EXPECT_EQ(lowercase(U"\u00c9TUDE \u0416\u0394 \u1e9e"), U"\u00e9tude \u0436\u03b4 \u00df");
  EXPECT_EQ(lowercase(U"\u0100\u0101\u0102"), U"\u0101\u0101\u0103") << "alternating capitals and small letters";
  EXPECT_EQ(lowercase(U"\u0130"), U"i\u0307");
}

TEST(Unicode, LowerCasesASigmaByItsPlace) {
  EXPECT_EQ(lowercase(U"\u039f\u0394\u039f\u03a3 \u03a3\u0391\u03a3."),
            U"\u03bf\u03b4\u03bf\u03c2 \u03c3\u03b1\u03c2.");
  EXPECT_EQ(lowercase(U"\u03a3"), U"\u03c3") << "alone it ends no word";
}

TEST(Unicode, CutsWordsAtAnyWhiteSpace) {
  using Words = std::vector<std::u32string_view>;
  EXPECT_EQ(words(U"\u00a0one\u3000two \t three"), (Words{U"one", U"two", U"three"}));
  EXPECT_EQ(words(U""), Words{});
  EXPECT_EQ(words(U" \n"), Words{});
}

TEST(Unicode, KnowsBlankText) {
  for (const std::string_view text : {"", " \t", "\u00a0\u3000", "\u200b\ufeff", "\x01", "\u2581", "\xff"})
    EXPECT_TRUE(is_blank(text)) << text;
  for (const std::string_view text : {" a", "\u200b.", "\u00ad", "\u4e2d",
                                      "\xff"
                                      "1"})
    EXPECT_FALSE(is_blank(text)) << text;
}

}  // namespace qkv::unicode_test
