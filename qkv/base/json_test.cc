#include "qkv/base/json.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::json_test {

// The error after "a.json: this is not a JSON object: ", or "" if the text is accepted.
std::string refusal(const std::string& text, const JsonLimits& limits = {}) {
  try {
    parse_json_object(text, "a.json", limits);
    return "";
  } catch (const InputError& e) {
    const std::string begin = "a.json: this is not a JSON object: ", what = e.what();
    EXPECT_TRUE(what.starts_with(begin)) << what;
    return what.substr(std::min(begin.size(), what.size()));
  }
}

std::string nested(size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(Json, AnObjectIsReadAsItIs) {
  const std::string text = R"({"a": [1, -2, 3.5, null, true], "b": {"a": "\u00e9"}})";
  EXPECT_EQ(parse_json_object(text, "a.json"), Json::parse(text));
  EXPECT_EQ(parse_json_object(" {}\n", "a.json"), Json::object());
}

TEST(Json, ValuesHaveTheirKindAndOrder) {
  Json json = {{"b", 1}, {"a", {1, 2.5, "x"}}, {"c", {{"d", nullptr}}}};
  json["e"] = true;
  json["a"] = std::vector<int>{3, 4};
  EXPECT_EQ(json.dump(), R"({"b":1,"a":[3,4],"c":{"d":null},"e":true})");
  EXPECT_EQ(json["a"].get<std::vector<int64_t>>(), (std::vector<int64_t>{3, 4}));
  EXPECT_TRUE(json["c"].value("d").is_null());
  EXPECT_TRUE(json.value("f").is_null());
  EXPECT_FALSE(json.contains("f"));
  json.erase("a");
  EXPECT_EQ(json, Json::parse(R"({"b":1,"c":{"d":null},"e":true})"));
  EXPECT_EQ(Json::object().dump(2), "{}");
  EXPECT_EQ(Json::array().dump(), "[]");
}

TEST(Json, NumbersKeepTheirValue) {
  EXPECT_EQ(Json(0.1f).dump(), "0.1");
  EXPECT_EQ(Json(1.5e-5f).get<float>(), 1.5e-5f);
  EXPECT_EQ(Json(INT64_MIN).dump(), "-9223372036854775808");
  EXPECT_EQ(Json::parse("18446744073709551615").get<uint64_t>(), UINT64_MAX);
  EXPECT_TRUE(Json(5).is_number_unsigned());
  EXPECT_FALSE(Json(-5).is_number_unsigned());
  EXPECT_EQ(Json(3), Json(3.0));
}

TEST(Json, AValueOfAnotherKindIsAnError) {
  const Json json = Json::parse(R"({"a": "x", "b": 300, "c": -1})");
  EXPECT_THROW(json["a"].get<int>(), Error);
  EXPECT_THROW(json["b"].get<std::string>(), Error);
  EXPECT_THROW(json["b"].get<int8_t>(), Error);
  EXPECT_THROW(json["c"].get<uint64_t>(), Error);
  EXPECT_THROW(json["a"].items(), Error);
  EXPECT_THROW(json["d"], Error);
  EXPECT_THROW(Json("\xff").dump(), Error);
  EXPECT_EQ(Json("\xff").dump({.replace_invalid = true}), "\"\xef\xbf\xbd\"");
  EXPECT_FALSE(Json::try_parse("{"));
}

TEST(Json, OtherTextIsRefusedWithLineAndByte) {
  EXPECT_EQ(refusal(""), "line 1, byte 1: unexpected end");
  EXPECT_EQ(refusal("[1]"), "line 1, byte 1: a list, expected an object");
  EXPECT_EQ(refusal("{\"a\": 1,\n  \"b\": }"), "line 2, byte 8: unexpected '}'");
  EXPECT_EQ(refusal("{\"a\": 1} {"), "line 1, byte 10: unexpected '{'");
  EXPECT_EQ(refusal("{\"a\": [1, 2"), "line 1, byte 12: unexpected end");
  EXPECT_EQ(refusal("{\"a\": \"\xff\"}"), "line 1, byte 8: unexpected byte 0xff");
  EXPECT_EQ(refusal("{\"a\":\n1e999}"), "line 2, byte 6: the number 1e999 is too large");
  EXPECT_EQ(refusal("7 "), "line 1, byte 2: a single value, expected an object");
}

TEST(Json, ANameTwiceInOneObjectIsRefused) {
  EXPECT_EQ(refusal("{\"a\": 1,\n\"a\": 2}"), "line 2, byte 3: 'a' occurs twice");
  EXPECT_EQ(refusal(R"({"a": {"a": {"a": 1}}, "b": [{"a": 1}, {"a": 1}]})"), "");
}

TEST(Json, DepthIsBounded) {
  EXPECT_EQ(refusal("{\"a\": " + nested(31) + "}"), "");
  EXPECT_EQ(refusal("{\"a\": " + nested(32) + "}"), "line 1, byte 38: nested more than 32 levels deep");
  EXPECT_EQ(refusal("{\"a\": " + std::string(500'000, '[')), "line 1, byte 38: nested more than 32 levels deep");
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_NE(refusal(objects).find("nested more than 32"), std::string::npos);
}

TEST(Json, LengthsAreBounded) {
  const JsonLimits limits{.bytes = 40, .name_bytes = 10};
  EXPECT_EQ(refusal("{\"aaaaaaaaaa\": 1}", limits), "");
  EXPECT_EQ(refusal("{\"aaaaaaaaaab\": 1}", limits),
            "line 1, byte 14: the name 'aaaaaaaaaab' is longer than 10 bytes");
  EXPECT_EQ(refusal(std::string(41, ' '), limits), "41 bytes, expected at most 40");
}

TEST(Json, AValueIsShownOnOneLineAndNotTooLong) {
  EXPECT_EQ(shown_json(Json{{"a", "b\nc\x7f"}}).text(), R"({"a":"b\nc\x7f"})");
  EXPECT_LT(shown_json(Json(std::string(100'000, 'x'))).text().size(), 200u);
}

}  // namespace qkv::json_test
