// The texts that jinja2 makes in the environment of transformers: test/chat_template/goldens.py.
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/text/chat_template/chat_template.h"

namespace qkv::golden_test {

const Json& goldens() {
  static const Json read =
      parse_json_object(read_file(QKV_SOURCE_DIR "/test/chat_template/goldens.json"), "goldens.json");
  return read;
}

// The text, or none if the template or the conversation is refused.
std::optional<std::string> rendered(const std::string& text, const Json& variables) {
  try {
    const Json* messages = variables.find("messages");
    const Json* tools = variables.find("tools");
    const Json* prompt = variables.find("add_generation_prompt");
    return ChatTemplate({.text = text})
        .render(messages ? *messages : Json::array(), {.add_generation_prompt = !prompt || prompt->get<bool>(),
                                                       .tools = tools ? *tools : Json(),
                                                       .variables = variables,
                                                       .now = 1'700'000'000});
  } catch (const InputError&) {
    return {};
  }
}

void expect_text(const Json& expected, const std::optional<std::string>& found, const std::string& what) {
  EXPECT_EQ(found.has_value(), !expected.is_null()) << what;
  if (found && !expected.is_null()) {
    EXPECT_EQ(*found, expected.text()) << what;
  }
}

TEST(ChatTemplateGoldens, ConversationsOfFamiliesHaveTheTextOfTransformers) {
  const Json& conversations = goldens()["conversations"];
  for (const Json& family : goldens()["families"]) {
    ASSERT_EQ(family["texts"].size(), conversations.size());
    for (size_t i = 0; i < conversations.size(); ++i)
      expect_text(family["texts"][i], rendered(family["template"].text(), conversations[i]),
                  fmt::format("{}, conversation {}", family["name"].text(), i));
  }
}

TEST(ChatTemplateGoldens, ExpressionsAndStatementsHaveTheValuesOfJinja) {
  const Json& templates = goldens()["templates"];
  EXPECT_GT(templates.size(), 400u);
  for (const Json& golden : templates)
    expect_text(golden[1], rendered(golden[0].text(), goldens()["variables"]), golden[0].text());
}

}  // namespace qkv::golden_test
