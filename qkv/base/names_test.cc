#include "qkv/base/names.h"

#include <gtest/gtest.h>

namespace qkv::names_test {

using qkv::PrintTo;  // found by itself for the enums of qkv

enum class Fruit { apple, pear, red_currant };
constexpr auto names_of(Fruit) {
  return std::array{Named{Fruit::apple, "apple"}, Named{Fruit::pear, "pear"},
                    Named{Fruit::red_currant, "red-currant"}};
}

template <class Kind>
std::string error_for(std::string_view given) {
  try {
    value_named<Fruit, Kind>(given, "basket.json", "'fruit'");
  } catch (const Kind& e) {
    return e.what();
  }
  return "no error";
}

TEST(Names, GoToValuesAndBack) {
  for (const auto& [value, name] : names_of(Fruit{})) {
    EXPECT_EQ(name_of(value), name);
    EXPECT_EQ(value_named<Fruit>(name, "basket", "fruit"), value);
  }
  EXPECT_EQ(name_list(all_names<Fruit>()), "apple, pear, red-currant");
  EXPECT_THROW(name_of(static_cast<Fruit>(7)), Error);
}

TEST(Names, ArePrintedByGoogleTest) { EXPECT_EQ(testing::PrintToString(Fruit::red_currant), "red-currant"); }

TEST(Names, AnUnknownOneIsAnErrorThatListsThemAndNamesTheNearest) {
  EXPECT_EQ(error_for<UsageError>("aple"),
            "basket.json: 'fruit' must be one of apple, pear, red-currant, got 'aple'; did you mean apple?");
  EXPECT_EQ(error_for<InputError>("zucchini"),
            "basket.json: 'fruit' must be one of apple, pear, red-currant, got 'zucchini'");
  EXPECT_EQ(error_for<InputError>(""), "basket.json: 'fruit' must be one of apple, pear, red-currant, got ''");
}

TEST(Nearest, DiffersInAFewLettersOrIsAnAbbreviation) {
  const std::vector<std::string_view> known = {"model", "max-length", "beam", "batch-tokens", "scores"};
  EXPECT_EQ(nearest("modle", known), "model");  // swapped
  EXPECT_EQ(nearest("beem", known), "beam");    // replaced
  EXPECT_EQ(nearest("mdel", known), "model");   // missing
  EXPECT_EQ(nearest("batch-tokenss", known), "batch-tokens");
  EXPECT_EQ(nearest("max", known), "max-length");  // begun
  EXPECT_EQ(nearest("score", known), "scores");
  EXPECT_EQ(nearest("Beam", known), "beam");
  EXPECT_EQ(nearest("Q4_K", std::vector<std::string_view>{"q4_0", "q4_k", "q4_k_s"}), "q4_k");
  EXPECT_EQ(nearest("x", known), std::nullopt);
  EXPECT_EQ(nearest("", known), std::nullopt);
  EXPECT_EQ(nearest("temperature", known), std::nullopt);
  EXPECT_EQ(did_you_mean("modle", known, "--"), "; did you mean --model?");
  EXPECT_EQ(did_you_mean("temperature", known, "--"), "");
}

TEST(OneLine, HasNoControlCharactersAndIsNotTooLong) {
  EXPECT_EQ(one_line("a\x1b[31m\nb\x7f"), "a\\x1b[31m\\x0ab\\x7f");
  EXPECT_EQ(one_line("\xc2\x9b\xc3\xa9"), "\\xc2\\x9b\xc3\xa9") << "U+009B is a control character, U+00E9 is none";
  EXPECT_EQ(one_line("abcdef", 6), "abcdef");
  EXPECT_EQ(one_line("abcdefg", 6), "abcdef...");
  EXPECT_EQ(one_line("abcde\xc3\xa9z", 6), "abcde...") << "no half character";
  EXPECT_EQ(quoted_name("a\tb").text(), "'a\\x09b'");
}

TEST(Nearest, IsNoneForAVeryLongWord) {
  const std::vector<std::string_view> known = {"model"};
  EXPECT_EQ(nearest("model" + std::string(1'000'000, 'l'), known), std::nullopt);
}

}  // namespace qkv::names_test
