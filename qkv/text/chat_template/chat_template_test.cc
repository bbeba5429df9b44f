#include "qkv/text/chat_template/chat_template.h"

#include <gtest/gtest.h>

#include "qkv/base/error.h"

namespace qkv::chat_template_test {

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

// What is wrong with a template, or with what it does.
std::string refusal(const std::string& text, const ChatTemplateLimits& limits = {},
                    const RenderOptions& options = {}) {
  try {
    ChatTemplate({.text = text, .file = "t.jinja"}, limits).render(Json::array(), options);
  } catch (const InputError& error) {
    return error.what();
  }
  ADD_FAILURE() << "not refused: " << text.substr(0, 200);
  return "";
}

void expect_refusal(const std::string& text, const std::string& message, const ChatTemplateLimits& limits = {}) {
  const std::string found = refusal(text, limits);
  EXPECT_NE(found.find(message), std::string::npos) << text.substr(0, 200) << "\n" << found;
}

TEST(ChatTemplate, RendersMessagesAndSpecialTokens) {
  const ChatTemplate chat({.text = "{{ bos_token }}{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
                                   "{% if add_generation_prompt %}<assistant>{% endif %}",
                           .special_tokens = {{"bos_token", "<s>"}}});
  const std::vector<ChatMessage> messages = {{"user", "Hello"}, {"assistant", "Hi"}};
  EXPECT_EQ(chat.render(messages), "<s><user>Hello<assistant>Hi<assistant>");
  EXPECT_EQ(chat.render(messages, {.add_generation_prompt = false}), "<s><user>Hello<assistant>Hi");
}

TEST(ChatTemplate, VariablesOfTheCallerReplaceTheSpecialTokens) {
  const ChatTemplate chat({.text = "{{ bos_token }}{{ date }}", .special_tokens = {{"bos_token", "<s>"}}});
  EXPECT_EQ(chat.render(Json::array(), {.variables = {{"bos_token", "!"}, {"date", 5}}}), "!5");
}

TEST(ChatTemplate, ErrorsNameTheFileAndTheLine) {
  EXPECT_EQ(refusal("a\n\n{{ 1 + 'a' }}"), "t.jinja: the chat template, line 3: a int + a str is not possible");
  EXPECT_EQ(refusal("a\n{% if %}"), "t.jinja: the chat template, line 2: expected an expression, got '%}'");
  EXPECT_EQ(refusal("\n{% macro m(x) %}\n{{ x.y.z }}\n{% endmacro %}\n{{ m({}) }}"),
            "t.jinja: the chat template, line 3: a dict has no attribute 'y'");
}

TEST(ChatTemplate, ARefusalOfTheTemplateIsReportedWithItsMessage) {
  EXPECT_EQ(refusal("{{ raise_exception('roles must\n alternate') }}"),
            "t.jinja: the chat template, line 1: the template refuses the conversation: roles must\\x0a alternate");
}

TEST(ChatTemplate, ALongRefusalIsCutToAMessage) {
  const std::string refused = "t.jinja: the chat template, line 1: the template refuses the conversation: ";
  EXPECT_EQ(refusal("{{ raise_exception('a' * 3 ~ '\u00e9' * 500) }}"),
            refused + "aaa" + repeated("\u00e9", 198) + "...");
  EXPECT_EQ(refusal("{{ raise_exception('\\x00' * 500) }}"), refused + repeated("\\x00", 400) + "...");
}

TEST(ChatTemplate, WhatIsNotInTheLanguageIsRefusedByName) {
  expect_refusal("{% include 'x' %}", "unknown tag 'include'");
  expect_refusal("{% for x in [] recursive %}{% endfor %}", "recursive loops are not supported");
  expect_refusal("{{ 1 | wordwrap }}", "there is no filter 'wordwrap'");
  expect_refusal("{{ 1 is prime }}", "there is no test 'prime'");
  expect_refusal("{{ '\\N{DASH}' }}", "\\N{name} is not supported");
}

TEST(ChatTemplate, ListsAndDictsCannotBeChanged) {
  expect_refusal("{{ [].append(1) }}", "'append' of a list changes it, which a template may not do");
  expect_refusal("{{ {}.update({}) }}", "'update' of a dict changes it");
}

TEST(ChatTemplate, InvalidUtf8IsRefused) {
  expect_refusal("a\xff", "invalid UTF-8 at byte 2");
  const ChatTemplate chat({.text = "{{ messages[0].content }}"});
  const std::vector<ChatMessage> messages = {{"user", "a\xff"}};
  EXPECT_THROW(chat.render(messages), InputError);
}

TEST(ChatTemplateLimits, AnEndlessLoopEnds) {
  const std::string loop = "{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}";
  expect_refusal(loop, "allowed");
  expect_refusal("{% set a = range(100000) %}" + repeated("{% for i in a %}{{ i is odd }}{% endfor %}", 99),
                 "more than the 10000000 steps");
  expect_refusal(
      "{% macro m(n) %}{% for i in range(9) %}{{ m(n + 1) if n < 40 }}{% endfor %}{% endmacro %}{{ m(0) }}",
      "steps", {.steps = 100'000});
}

TEST(ChatTemplateLimits, RecursionEnds) {
  expect_refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "nested more than 400 deep");
  const std::string nest =
      "{% set ns = namespace(l=[]) %}{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}";
  expect_refusal(nest + "{{ ns.l }}", "nested more than 400 deep");
  expect_refusal(nest + "{{ ns.l | tojson }}", "nested more than 400 deep");
  expect_refusal(nest + "{% set a = ns.l %}{% set ns.l = [] %}" +
                     "{% for i in range(9999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ a == ns.l }}",
                 "nested more than 400 deep");
}

TEST(ChatTemplateLimits, AValueMayContainItself) {
  expect_refusal("{% set ns = namespace(a=1) %}{% set ns.a = [ns] %}{{ ns }}", "nested more than 400 deep");
}

TEST(ChatTemplateLimits, DeepSyntaxIsRefused) {
  for (const auto& [open, close] : {std::pair("(", ")"), {"[", "]"}, {"{1: ", "}"}, {"f(", ")"}})
    expect_refusal("{{ " + repeated(open, 50'000) + "1" + repeated(close, 50'000) + " }}",
                   "nested more than 200 deep");
  expect_refusal("{{ " + repeated("not ", 100'000) + "1 }}", "nested more than 200 deep");
  expect_refusal("{{ " + repeated("- ", 100'000) + "1 }}", "nested more than 200 deep");
  expect_refusal("{{ 1" + repeated(" + 1", 100'000) + " }}", "nested more than 200 deep");
  expect_refusal("{{ a" + repeated(".b", 100'000) + " }}", "nested more than 200 deep");
  expect_refusal("{{ a" + repeated(" | e", 100'000) + " }}", "nested more than 200 deep");
  expect_refusal(repeated("{% if a %}", 50'000), "nested more than 200 deep");
}

TEST(ChatTemplateLimits, TextAndListsDoNotGrowWithoutLimit) {
  expect_refusal("{{ 'a' * 9223372036854775807 }}", "allowed");
  expect_refusal("{{ [1] * 9223372036854775807 }}", "allowed");
  expect_refusal("{{ 'a'.ljust(9223372036854775807) }}", "allowed");
  expect_refusal("{{ 'a'.zfill(9223372036854775807) }}", "allowed");
  expect_refusal("{{ 'a' | indent(9223372036854775807, true) }}", "allowed");
  expect_refusal("{{ [1] | tojson(indent=9223372036854775807) }}", "allowed");
  expect_refusal(
      "{% set ns = namespace(s='abcdefgh') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
      "allowed");
  expect_refusal("{% for i in range(99999) %}aaaaaaaaaaaaaaaaaaaa{% endfor %}", "more than the 1000000 bytes",
                 {.output_bytes = 1'000'000});
  expect_refusal("{{ range(100001) }}", "more than 100000 numbers");
}

TEST(ChatTemplateLimits, LongSearchesTakeTimeInProportionToTheText) {
  const RenderOptions options = {
      .variables = {{"t", repeated("a", 1'000'000)}, {"p", "b" + repeated("a", 300'000)}}};
  const ChatTemplate chat({.text = "{{ p in t }}{{ t.find(p) }}{{ t.rfind(p) }}{{ t.replace(p, '') | length }}"
                                   "{{ t.split(p) | length }}{{ t.count(p) }}"});
  EXPECT_EQ(chat.render(Json::array(), options), "False-1-1100000010");
}

TEST(ChatTemplateLimits, NumbersOutOfRangeAreRefused) {
  expect_refusal("{{ 9223372036854775808 }}", "more than 64 bits");
  expect_refusal("{{ 9223372036854775807 + 1 }}", "more than 64 bits");
  expect_refusal("{{ (-9223372036854775807 - 1) // -1 }}", "more than 64 bits");
  expect_refusal("{{ 3 ** 100 }}", "more than 64 bits");
  expect_refusal("{{ 1e300 | int }}", "more than 64 bits");
  expect_refusal("{{ 5 % 0 }}", "division by zero");
  EXPECT_EQ(ChatTemplate({.text = "{{ (-9223372036854775807 - 1) % -1 }}{{ 'abc'[-9223372036854775807:] }}"
                                  "{{ 'abc'[::-9223372036854775807] }}"})
                .render(Json::array()),
            "0abcc");
}

TEST(ChatTemplateLimits, TheRestOfADivisionIsExactAtTheBoundsOfIntegers) {
  EXPECT_EQ(ChatTemplate({.text = "{% set least = -9223372036854775807 - 1 %}{{ least % 7 }} {{ least % -7 }} "
                                  "{{ least % 9223372036854775807 }} {{ 9223372036854775807 % least }}"})
                .render(Json::array()),
            "6 -1 9223372036854775806 -1");
}

TEST(ChatTemplateLimits, ALongTemplateIsRefused) {
  expect_refusal(repeated("a", 1'000'001), "must have at most 1000000 bytes, got 1000001");
}

}  // namespace qkv::chat_template_test
