#include "qkv/base/json_fields.h"

#include <functional>

#include <gtest/gtest.h>

namespace qkv::json_fields_test {

std::string error_of(const std::function<void(const JsonFields&)>& read) {
  const Json json = {{"text", "a"},   {"flag", true},    {"count", 3},
                     {"number", 0.5}, {"null", nullptr}, {"list", Json::array({1, 2})}};
  try {
    read(JsonFields(json, "file"));
    return "";
  } catch (const InputError& e) {
    return e.what();
  }
}

TEST(JsonFields, AreReadByTheirKind) {
  EXPECT_EQ(error_of([](const JsonFields& f) {
              EXPECT_EQ(f.text("text"), "a");
              EXPECT_TRUE(f.flag("flag"));
              EXPECT_EQ(f.integer("count"), 3);
              EXPECT_EQ(f.number("number"), 0.5);
              EXPECT_EQ(f.list("list").size(), 2u);
            }),
            "");
}

TEST(JsonFields, ThatAreMissingOrNullHaveTheDefault) {
  EXPECT_EQ(error_of([](const JsonFields& f) {
              EXPECT_EQ(f.text("null", "b"), "b");
              EXPECT_TRUE(f.flag("none", true));
              EXPECT_EQ(f.integer("none", 7), 7);
              EXPECT_EQ(f.number("null", 2.5), 2.5);
              EXPECT_FALSE(f.number_or_none("none"));
              EXPECT_FALSE(f.number_or_null("null"));
            }),
            "");
  EXPECT_EQ(error_of([](const JsonFields& f) { f.number_or_null("none"); }), "file: there is no 'none'");
  EXPECT_EQ(error_of([](const JsonFields& f) { f.text("null"); }), "file: there is no 'null'");
}

TEST(JsonFields, ErrorsNameTheFieldAndWhatItMustBe) {
  EXPECT_EQ(error_of([](const JsonFields& f) { f.text("count"); }), "file: 'count' must be a string, got 3");
  EXPECT_EQ(error_of([](const JsonFields& f) { f.flag("text"); }), "file: 'text' must be true or false, got \"a\"");
  EXPECT_EQ(error_of([](const JsonFields& f) { f.list("flag"); }), "file: 'flag' must be a list, got true");
  EXPECT_EQ(error_of([](const JsonFields& f) { f.number("text"); }), "file: 'text' must be a number, got \"a\"");
  EXPECT_EQ(error_of([](const JsonFields& f) { f.object("list"); }), "file: 'list': must be an object, got [1,2]");
}

TEST(JsonFields, IntegersAreWithinTheirRange) {
  const auto read = [](const Json& value, const IntegerRange& range) {
    return error_of([&](const JsonFields& f) { f.as_integer(value, "n", range); });
  };
  EXPECT_EQ(read(INT64_MAX, JsonFields::any_count), "");
  EXPECT_EQ(read(4, {.from = 1, .to = 3}), "file: 'n' must be an integer from 1 to 3, got 4");
  EXPECT_EQ(read(-1, {}), "file: 'n' must be an integer from 0 to 2147483647, got -1");
  EXPECT_EQ(read(0.5, {.to = 3}), "file: 'n' must be an integer from 0 to 3, got 0.5");
  EXPECT_EQ(read(UINT64_MAX, JsonFields::any_count),
            "file: 'n' must be an integer from 0 to 9223372036854775807, got 18446744073709551615");
}

}  // namespace qkv::json_fields_test
