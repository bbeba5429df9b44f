#include "qkv/published/chat_template_files.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/base/file.h"
#include "qkv/test_support/scratch_folder.h"

namespace qkv::chat_template_files_test {

class ChatTemplateFiles : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { write_file(folder_.path() / name, text); }
  ChatTemplateSource read() const { return read_chat_template(folder_.path()); }
  test::ScratchFolder folder_;
};

using Tokens = std::vector<std::pair<std::string, std::string>>;

TEST_F(ChatTemplateFiles, ATextInTheSettingsOfTheTokenizer) {
  write("tokenizer_config.json", R"({"chat_template": "a", "bos_token": "<s>", "eos_token": {"content": "</s>"}})");
  EXPECT_EQ(read().text, "a");
  EXPECT_TRUE(read().file.ends_with("tokenizer_config.json")) << read().file;
  EXPECT_EQ(read().special_tokens, (Tokens{{"bos_token", "<s>"}, {"eos_token", "</s>"}}));
}

TEST_F(ChatTemplateFiles, OfANamedListTheDefault) {
  write("tokenizer_config.json",
        R"({"chat_template": [{"name": "tool_use", "template": "t"}, {"name": "default", "template": "d"}]})");
  EXPECT_EQ(read().text, "d");
}

TEST_F(ChatTemplateFiles, AFileOfItsOwnComesFirst) {
  write("chat_template.json", R"({"chat_template": "c"})");
  EXPECT_EQ(read().text, "c");
  write("tokenizer_config.json", R"({"chat_template": "a"})");
  EXPECT_EQ(read().text, "a");
  write("chat_template.jinja", "b\n");
  EXPECT_EQ(read().text, "b\n");
  EXPECT_TRUE(read().file.ends_with("chat_template.jinja"));
}

TEST_F(ChatTemplateFiles, SpecialTokensMayBeInAMap) {
  write("special_tokens_map.json", R"({"eos_token": "<e>", "bos_token": null})");
  write("chat_template.jinja", "b");
  EXPECT_EQ(read().special_tokens, (Tokens{{"eos_token", "<e>"}}));
}

TEST_F(ChatTemplateFiles, WithoutOneItSaysWhatWasLookedFor) {
  write("tokenizer_config.json", R"({"chat_template": 3})");
  EXPECT_EQ(read().text, "");
  for (const char* name : {"chat_template.jinja", "tokenizer_config.json", "chat_template.json"})
    EXPECT_NE(read().file.find(name), std::string::npos) << read().file;
}

TEST_F(ChatTemplateFiles, WhatIsWrittenIsRead) {
  const ChatTemplateSource source = {.text = "{{ '\u00e9' }}\n", .special_tokens = {{"bos_token", "<s>"}}};
  write_chat_template(folder_.path(), {});
  EXPECT_FALSE(file_exists(folder_.path() / "tokenizer_config.json"));
  write_chat_template(folder_.path(), source);
  EXPECT_EQ(read().text, source.text);
  EXPECT_EQ(read().special_tokens, source.special_tokens);
}

TEST_F(ChatTemplateFiles, DamagedSettingsAreNamed) {
  write("tokenizer_config.json", R"({"chat_template": "a)");
  EXPECT_THROW(read(), InputError);
}

}  // namespace qkv::chat_template_files_test
