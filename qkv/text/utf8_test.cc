#include "qkv/text/utf8.h"

#include <gtest/gtest.h>

#include "qkv/base/random.h"

namespace qkv::utf8_test {

std::optional<size_t> error(std::string_view text) { return utf8_error(text); }

TEST(Utf8, AcceptsTheEdgesOfEveryLength) {
  for (const std::string_view text : {"", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                      "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_FALSE(error(text)) << text;
}

TEST(Utf8, RejectsWhatIsNotWellFormed) {
  EXPECT_EQ(error("abc\x80"), 3u) << "a continuation byte alone";
  EXPECT_EQ(error("\xc0\x80"), 0u) << "overlong, 2 bytes";
  EXPECT_EQ(error("\xc1\xbf"), 0u);
  EXPECT_EQ(error("a\xe0\x9f\xbf"), 1u) << "overlong, 3 bytes";
  EXPECT_EQ(error("\xf0\x8f\xbf\xbf"), 0u) << "overlong, 4 bytes";
  EXPECT_EQ(error("ab\xed\xa0\x80"), 2u) << "a surrogate";
  EXPECT_EQ(error("\xf4\x90\x80\x80"), 0u) << "above U+10FFFF";
  EXPECT_EQ(error("\xf5\x80\x80\x80"), 0u);
  EXPECT_EQ(error("\xff"), 0u);
  EXPECT_EQ(error("\xc3\xa9\xe2\x82"), 2u) << "cut off";
  EXPECT_EQ(error("\xe2\x28\xa1"), 0u);
}

TEST(Utf8, NamesTheFirstErrorAfterALongAsciiRun) {
  for (size_t n = 0; n < 40; ++n) EXPECT_EQ(error(std::string(n, 'x') + "\xfe" + std::string(9, 'y')), n);
}

TEST(Utf8, CountsAndDecodesCodePoints) {
  const std::string text = "a\u00e9\u4e2d\U0001f355";
  EXPECT_EQ(utf8_length(text), 4);
  EXPECT_EQ(utf8_decode(text), U"a\u00e9\u4e2d\U0001f355");
  EXPECT_EQ(utf8_length("a\xff\xc3"), 3);
  EXPECT_EQ(utf8_decode("\xff"), std::u32string(1, invalid_byte + 0xff));
}

TEST(Utf8, CompleteTextEndsBeforeThePartOfACharacter) {
  EXPECT_EQ(utf8_complete(""), 0u);
  EXPECT_EQ(utf8_complete("ab"), 2u);
  for (char32_t c = 1; c < 0x110000; c += c < 0x3000 ? 1 : 61) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const std::string text = "x\u20ac" + utf8_encode(std::u32string(1, c));
    for (size_t size = 4; size <= text.size(); ++size)
      ASSERT_EQ(utf8_complete(text.substr(0, size)), size == text.size() ? size : 4) << static_cast<uint32_t>(c);
  }
  // Bytes that no further byte can complete are not held back.
  for (const std::string_view text : {"\x80", "\xff", "a\xc0", "\xe0\x80", "\xed\xa0", "\xf4\x90", "\xf5\x80",
                                      "\xc3\x28", "\xe2\x82\xac\x80", "\xf0\x9f\x28"})
    EXPECT_EQ(utf8_complete(text), text.size()) << text;
  EXPECT_EQ(utf8_complete("\xff\xe2\x82"), 1u);
}

TEST(Utf8, EveryCodePointSurvivesTheRoundTrip) {
  for (char32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const std::u32string point(1, c);
    const std::string text = utf8_encode(point);
    ASSERT_FALSE(error(text)) << static_cast<uint32_t>(c);
    ASSERT_EQ(utf8_decode(text), point);
  }
}

TEST(Utf8, ControlCharactersAreEscapedAndNothingElseIs) {
  EXPECT_EQ(escape_controls("a\x1b[31mb\n\tc\x7f"), "a<0x1B>[31mb<0x0A><0x09>c<0x7F>");
  EXPECT_EQ(escape_controls(std::string("\0", 1)), "<0x00>");
  EXPECT_EQ(escape_controls("\u009b\u00a0\u00e9\u2581 \U0001f600"), "<0xC2><0x9B>\u00a0\u00e9\u2581 \U0001f600");
  EXPECT_EQ(escape_controls("\x9b\xc3"), "<0x9B><0xC3>") << "not UTF-8";
  EXPECT_EQ(escape_controls("a\tb\n", "\t"), "a\tb<0x0A>");
}

TEST(Utf8, AnyBytesSurviveTheRoundTrip) {
  Random random(3);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (uint64_t i = random.below(20); i > 0; --i) text += static_cast<char>(random.bits());
    ASSERT_EQ(utf8_encode(utf8_decode(text)), text);
    ASSERT_EQ(utf8_length(text), static_cast<int64_t>(utf8_decode(text).size()));
    const auto at = error(text);
    if (at) {
      ASSERT_GE(utf8_decode(text.substr(*at))[0], invalid_byte);
      ASSERT_FALSE(error(text.substr(0, *at)));
    }
  }
}

}  // namespace qkv::utf8_test
