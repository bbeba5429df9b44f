#include "qkv/base/json.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv {
namespace {

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
  EXPECT_EQ(refusal("{\"a\": 1,\n\"a\": 2}"), "line 2, byte 3: 'a' is there twice");
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
  EXPECT_EQ(shown_json(Json{{"a", "b\nc\x7f"}}), R"({"a":"b\nc\x7f"})");
  EXPECT_LT(shown_json(Json(std::string(100'000, 'x'))).size(), 200u);
}

}  // namespace
}  // namespace qkv
