#include "qkv/pipeline/stop_strings.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/random.h"
#include "qkv/text/utf8.h"

namespace qkv::stop_strings_test {

using Strings = std::vector<std::string>;

TEST(StopStrings, HoldsBackWhatMayBeTheBeginningOfAStopString) {
  StopStrings stops({"Question:", "\n\n"});
  EXPECT_EQ(stops.append("42.\n"), "42.");
  EXPECT_EQ(stops.append("So"), "\nSo");
  EXPECT_EQ(stops.append(" Que"), " ");
  EXPECT_EQ(stops.append("st"), "");
  EXPECT_EQ(stops.append(" Quest"), "Quest ");
  EXPECT_FALSE(stops.found());
  EXPECT_EQ(stops.append("ion: no more"), "");
  EXPECT_TRUE(stops.found());
  EXPECT_EQ(stops.index(), 0u);
  EXPECT_EQ(stops.text(), "42.\nSo Quest ");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, FinishPrintsWhatWasHeldBack) {
  StopStrings stops({"END"});
  EXPECT_EQ(stops.append("the EN"), "the ");
  EXPECT_EQ(stops.finish(), "EN");
  EXPECT_EQ(stops.text(), "the EN");
  EXPECT_EQ(stops.finish(), "");
}

TEST(StopStrings, TheOccurrenceThatEndsFirstCountsAndThenTheLongest) {
  const auto text = [](const Strings& stops, std::string_view piece) {
    StopStrings search(stops);
    search.append(piece);
    EXPECT_TRUE(search.found());
    return search.text();
  };
  EXPECT_EQ(text({"abcd", "bc"}, "xabcd"), "xa");
  EXPECT_EQ(text({"c", "abc", "bc"}, "xabcd"), "x");
  EXPECT_EQ(text({"aab"}, "aaaab"), "aa");
  EXPECT_EQ(text({"abab", "abac"}, "abacabab"), "");
}

TEST(StopStrings, NeverPrintsHalfACharacter) {
  StopStrings stops({"\u20ac\u20ac"});
  EXPECT_EQ(stops.append("a\xe2"), "a");
  EXPECT_EQ(stops.append("\x82"), "");
  EXPECT_EQ(stops.append("\xac"), "") << "half a stop string";
  EXPECT_EQ(stops.append("\xe2\x82\xad"), "\u20ac\u20ad");
  EXPECT_EQ(stops.append("\xf0\x9f"), "");
  EXPECT_EQ(stops.finish(), "\xf0\x9f") << "there is no more";
  StopStrings none;
  EXPECT_EQ(none.append("\xff\x80"), "\xff\x80") << "not UTF-8";
}

// Random texts of few letters in random pieces, next to a search of the whole text.
TEST(StopStrings, EqualsASearchOfTheWholeTextForAnyPieces) {
  Random random(6);
  const Strings letters = {"a", "b", "\u00e9", "\u20ac"};
  const auto draw = [&](uint64_t length) {
    std::string text;
    for (; length > 0; --length) text += letters[random.below(4)];
    return text;
  };
  int found = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::string text = draw(random.below(30));
    Strings all(random.below(4));
    for (std::string& stop : all) stop = draw(1 + random.below(5));
    size_t cut = text.size();
    for (size_t end = 1; end <= text.size() && cut == text.size(); ++end)
      for (const std::string& stop : all)
        if (std::string_view(text).substr(0, end).ends_with(stop)) cut = std::min(cut, end - stop.size());

    StopStrings stops(all);
    std::string printed;
    for (size_t at = 0; at < text.size() && !stops.found();) {
      const size_t size = 1 + random.below(4);
      const std::string_view piece = stops.append(std::string_view(text).substr(at, size));
      ASSERT_FALSE(utf8_error(piece)) << "pieces are whole characters";
      printed += piece;
      ASSERT_EQ(printed.size(), stops.printed());
      at += size;
      const std::string held = stops.text().substr(printed.size());
      const bool may_stop = std::ranges::any_of(all, [&](const auto& stop) { return stop.starts_with(held); });
      ASSERT_TRUE(held.empty() || may_stop || utf8_complete(held) == 0) << "nothing else is held back";
    }
    found += stops.found();
    printed += stops.finish();
    ASSERT_EQ(printed, text.substr(0, cut));
    ASSERT_EQ(stops.text(), printed);
  }
  EXPECT_GT(found, 1000);
}

TEST(StopStrings, ErrorsNameTheStopString) {
  EXPECT_THROW(StopStrings({"a", ""}), UsageError);
  EXPECT_THROW(StopStrings({"\xff"}), UsageError);
  StopStrings stops({"a"});
  stops.append("ba");
  EXPECT_THROW(stops.append("c"), Error);
}

}  // namespace qkv::stop_strings_test
