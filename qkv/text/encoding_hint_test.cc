#include "qkv/text/encoding_hint.h"

#include <sstream>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/text/lines.h"

namespace qkv::encoding_hint_test {

const char* const command = "iconv -f WINDOWS-1252 -t UTF-8 FILE > TEXT";

TEST(EncodingHint, ShowsAWordAsItReadsAndTheCommandThatConverts) {
  EXPECT_EQ(encoding_hint("un caf\xe9 noir"), std::string("; as Windows-1252 it reads 'caf\u00e9': ") + command);
  EXPECT_EQ(encoding_hint("\xc9t\xe9"), std::string("; as Windows-1252 it reads '\u00c9t\u00e9': ") + command);
}

TEST(EncodingHint, KnowsTheLanguagesOfWesternEuropeAndTypographicPunctuation) {
  for (const char* line : {"Stra\xdf"
                           "e f\xfcr M\xe4nner",
                           "\xbfQu\xe9 pas\xf3, se\xf1or?", "il va \xe0 la for\xeat", "bl\xe5 b\xe6r, \xf8l",
                           "\x93Yes,\x94 she said \x96 it\x92s \x80 5\x85", "cr\xe9\xe9 par l'\x9cuvre",
                           "cora\xe7\xe3o", "\xab oui \xbb\tyes"})
    EXPECT_NE(encoding_hint(line).find(command), std::string::npos) << line;
}

TEST(EncodingHint, SaysNothingOfOtherAlphabetsBinaryDataAndDamagedUtf8) {
  EXPECT_EQ(encoding_hint("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0"), "") << "Windows-1251";
  EXPECT_EQ(encoding_hint("\x93\xfa\x96{\x8c\xea"), "") << "Shift-JIS";
  EXPECT_EQ(encoding_hint("Wa\xb3\xeasa"), "") << "ISO-8859-2";
  EXPECT_EQ(encoding_hint("a\x01\xe9g"), "");
  EXPECT_EQ(encoding_hint("a\x81g"), "") << "not a character of Windows-1252";
  EXPECT_EQ(encoding_hint("caf\xc3\xa9 na\xef"
                          "f"),
            "")
      << "partly UTF-8";
  EXPECT_EQ(encoding_hint("ab\xff"), "");
  EXPECT_EQ(encoding_hint("\xfe"), "") << "a word of one consonant";
  EXPECT_EQ(encoding_hint("plain"), "");
  EXPECT_EQ(encoding_hint(""), "");
}

TEST(EncodingHint, IsPartOfTheErrorOfALine) {
  std::istringstream stream("plain\ncaf\xe9\nplain\n");
  LineReader lines(stream, "corpus");
  std::string line;
  ASSERT_TRUE(lines.next(line));
  try {
    lines.next(line);
    FAIL() << "accepted";
  } catch (const LineError& error) {
    EXPECT_EQ(
        error.what(),
        std::string("corpus:2: invalid UTF-8 at byte 4 (0xe9); as Windows-1252 it reads 'caf\u00e9': ") + command);
  }
  EXPECT_TRUE(lines.next(line));
}

}  // namespace qkv::encoding_hint_test
