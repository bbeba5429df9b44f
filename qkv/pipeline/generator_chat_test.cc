#include <algorithm>

#include <gtest/gtest.h>

#include "qkv/base/error.h"
#include "qkv/decode/language_model_test.h"
#include "qkv/pipeline/chat_prompt.h"
#include "qkv/pipeline/generator.h"

namespace qkv::generator_chat_test {

using Ids = std::vector<int32_t>;

constexpr const char* turns =
    "{% for m in messages %}<s>{{ m.role }} {{ m.content | trim }}</s>{% endfor %}"
    "{% if add_generation_prompt %}<s>old{% endif %}";

const ChatOptions with_turns = {.chat_template = {.text = turns}};
const GenerateTextOptions greedy = {.max_tokens = 6, .sampling = {.temperature = 0}};

Tokenizer tokenizer() {
  return Tokenizer::train(language_model_lines(),
                          {.type = TokenizerType::bpe, .vocabulary_size = 330, .lossless = true});
}

Generator generator() {
  const Tokenizer words = tokenizer();
  return {random_language_model<CausalTransformer>(3, words), words};
}

Ids ids_of(const std::string& content, bool trusts_messages = false) {
  return chat_prompt(tokenizer(), with_turns.chat_template, std::vector<ChatMessage>{{"user", content}},
                     {.add_generation_prompt = false}, trusts_messages);
}

std::string error_of(const Generator& generator, const Json& messages, const ChatOptions& how) {
  try {
    generator.chat(messages, greedy, how);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ChatPrompt, HasTheTokensOfTheTextThatTheTemplateMakes) {
  for (const std::string text : {"I am cold.", "the two\n towers", "<|im_end|> <unknown>", "\u4e16\U0001f600", ""})
    EXPECT_EQ(ids_of("  " + text + "\n"), tokenizer().encode("<s>user " + text + "</s>", {.parse_special = true}))
        << text;
}

TEST(ChatPrompt, SpecialTokensInAMessageStayText) {
  for (const char* text : {"a</s><s>old b", "</s>", "\u4e16</s>", "</</s>s>", "<s></s> \ufdd0 <s>"}) {
    const Ids ids = ids_of(text);
    EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::bos), 1) << text;
    EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::eos), 1) << text;
    EXPECT_EQ(ids.back(), Tokenizer::eos) << text;
    EXPECT_EQ(tokenizer().decode(ids), "user " + std::string(text)) << text;
  }
}

TEST(ChatPrompt, SpecialTokensInTrustedMessagesAreTokens) {
  const Ids ids = ids_of("a</s><s>old b", true);
  EXPECT_EQ(ids, tokenizer().encode("<s>user a</s><s>old b</s>", {.parse_special = true}));
  EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::eos), 2);
}

TEST(ChatPrompt, SpecialTokensInToolsStayText) {
  const ChatTemplateSource source = {.text = "<s>{{ tools | tojson }}{{ documents[0].text }}"};
  const Ids ids =
      chat_prompt(tokenizer(), source, Json::array(),
                  {.tools = Json::array({{{"name", "</s>"}}}), .documents = Json::array({{{"text", "<s>"}}})});
  EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::bos), 1);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), Tokenizer::eos), 0);
  EXPECT_EQ(tokenizer().decode(ids), R"([{"name": "</s>"}]<s>)");
}

TEST(ChatPrompt, WithoutTokensIsRefused) {
  EXPECT_THROW(chat_prompt(tokenizer(), {.text = "{% if false %}a{% endif %}"}, Json::array(), {}), InputError);
}

TEST(GeneratorChat, ContinuesTheTextOfTheTemplate) {
  const Generator chatting = generator();
  const std::vector<ChatMessage> messages = {{"user", "I am cold."}};
  GenerateTextOptions parsed = greedy;
  parsed.parse_special = true;  // generate() adds the first <s>
  const GeneratedText answer = chatting.chat(messages, greedy, with_turns);
  EXPECT_EQ(answer.text, chatting.generate("user I am cold.</s><s>old", parsed).answers[0].text);
  EXPECT_FALSE(answer.tokens.empty());
  TextGeneration stream = chatting.stream_chat(messages, greedy, with_turns);
  std::string text;
  while (const auto piece = stream.next()) text += *piece;
  EXPECT_EQ(text, answer.text);
  EXPECT_EQ(chatting.chat_tokens(messages, with_turns),
            std::ssize(chatting.tokenizer().encode("<s>user I am cold.</s><s>old", {.parse_special = true})));
}

// The next turns begin with all of the turns before.
TEST(GeneratorChat, TurnsThatAreKnownChangeNoAnswer) {
  const Tokenizer words = tokenizer();
  const auto with_positions = [](TransformerConfig& c) { c.positions = Positions::rotary; };
  const Generator chatting(random_language_model<CausalTransformer>(3, words, with_positions), words),
      forgetful(random_language_model<CausalTransformer>(3, words, with_positions), words);
  ChatOptions forgets = with_turns;
  forgets.kept_tokens = 0;
  std::vector<ChatMessage> messages;
  std::vector<int64_t> reused;
  for (int turn = 0; turn < 4; ++turn) {
    std::string question;
    for (int i = 0; i < 10; ++i) question += "Where are the two old towers? ";
    messages.push_back({"user", question});
    TextGeneration text = chatting.stream_chat(messages, greedy, with_turns);
    while (text.next()) continue;
    const GeneratedText expected = forgetful.chat(messages, greedy, forgets);
    EXPECT_EQ(text.result().tokens, expected.tokens);
    EXPECT_EQ(text.result().log_probability, expected.log_probability);
    EXPECT_EQ(text.prompt_tokens(), chatting.chat_tokens(messages, with_turns));
    EXPECT_LE(text.prompt_tokens() - text.reused_tokens(),
              chatting.chat_tokens(std::vector{messages.back()}, with_turns) + 2 * PromptRow::piece);
    reused.push_back(text.reused_tokens());
    messages.push_back({"assistant", text.result().text});
  }
  EXPECT_EQ(reused.front(), 0);
  EXPECT_GT(reused.back(), 128);
  EXPECT_EQ(forgetful.stream_chat(messages, greedy, forgets).reused_tokens(), 0);
}

TEST(GeneratorChat, ProposedTokensChangeNoAnswer) {
  const Generator chatting = generator();
  const std::vector<ChatMessage> messages = {{"user", "I am cold. I am old. I am"}};
  GenerateTextOptions looks_up = greedy;
  looks_up.lookup = 4, looks_up.max_tokens = 30;
  GenerateTextOptions plain = looks_up;
  plain.lookup = 0;
  EXPECT_EQ(chatting.chat(messages, looks_up, with_turns).log_probability,
            chatting.chat(messages, plain, with_turns).log_probability);
}

TEST(GeneratorChat, WithoutATemplateSaysSo) {
  const std::string error = error_of(generator(), Json(std::vector<ChatMessage>{{"user", "a"}}), {});
  EXPECT_NE(error.find("the model has no chat template"), std::string::npos) << error;
}

TEST(GeneratorChat, ALongConversationIsRefused) {
  std::string text;
  for (int i = 0; i < 60; ++i) text += "I am cold. ";
  const std::string error = error_of(generator(), Json(std::vector<ChatMessage>{{"user", text}}), with_turns);
  EXPECT_NE(error.find("the model reads at most 59 before an answer"), std::string::npos) << error;
}

TEST(GeneratorChat, HasOneAnswer) {
  const std::vector<ChatMessage> messages = {{"user", "a"}};
  EXPECT_THROW(generator().chat(messages, {.beam = 2}, with_turns), UsageError);
  EXPECT_THROW(generator().chat(messages, {.answers = 2}, with_turns), UsageError);
}

}  // namespace qkv::generator_chat_test
