// The command chat on a small model with random weights: lines of standard input, and what is typed at a terminal.
#include <csignal>
#include <poll.h>
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>

#include "qkv/base/json.h"
#include "qkv/decode/language_model_test.h"
#include "qkv/model/causal.h"
#include "qkv/pipeline/generator.h"
#include "qkv/text/utf8.h"
#include "test/command_test.h"

namespace qkv::chat_command_test {

class Chat : public CommandTest {
 protected:
  static void SetUpTestSuite() {
    CommandTest::SetUpTestSuite();
    make_language_model(at("plain"), positions);
    make_language_model(at("chat"), positions);
    make_language_model(at("long"), 100'000);
    for (const char* folder : {"chat", "long"})
      write_file(at(folder) + "/tokenizer_config.json", Json{{"chat_template", turns}}.dump());
    write_file(
        at("strict.jinja"),
        std::string("{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}") + turns);
  }

  static void make_language_model(const std::string& path, int64_t max_positions) {
    const Tokenizer tokenizer = Tokenizer::train(
        {"I am cold.", "Go on."}, {.type = TokenizerType::bpe, .vocabulary_size = 300, .lossless = true});
    const auto model = random_language_model<CausalTransformer>(1, tokenizer, [&](TransformerConfig& c) {
      c.encoder_layers = c.decoder_layers = 1, c.max_positions = max_positions;
    });
    save_model(path, model, {{"tokenizer.model", tokenizer.checksum()}});
    tokenizer.save(path + "/tokenizer.model");
  }

  // The answers to each message, with those before it in the conversation.
  static std::string answers(const std::vector<std::string>& questions, std::vector<ChatMessage> messages = {}) {
    const Generator generator{std::filesystem::path(at("chat"))};
    std::string out;
    for (const std::string& question : questions) {
      messages.push_back({"user", question});
      std::string text = generator.chat(messages, {.max_tokens = 8, .sampling = {.temperature = 0}}).text;
      text.erase(0, text.find_first_not_of(" \n\t"));
      messages.push_back({"assistant", text});
      out += escape_controls(text, "\t\n") + "\n";
    }
    return out;
  }

  static constexpr int positions = 6000;
  static constexpr const char* turns =
      "{% for m in messages %}<s>{{ m.role }}: {{ m.content }}</s>{% endfor %}"
      "{% if add_generation_prompt %}<s>assistant:{% endif %}";
};

const std::string chat = "qkv chat --model chat --temperature 0 --max-tokens 8 ";

TEST_F(Chat, AnswersEveryLineAndRemembersThoseBefore) {
  const Outcome outcome = bash("printf 'Go on.\\n\\nI am cold.\\n' | " + chat);
  EXPECT_EQ(outcome.code, 0);
  EXPECT_EQ(outcome.out, answers({"Go on.", "I am cold."}));
  EXPECT_EQ(outcome.err, "");
}

TEST_F(Chat, BeginsWithTheSystemMessage) {
  const Outcome outcome = bash("echo 'Go on.' | " + chat + "--timings --system 'I am here.'");
  EXPECT_EQ(outcome.out, answers({"Go on."}, {{"system", "I am here."}}));
  const std::vector<ChatMessage> messages = {{"system", "I am here."}, {"user", "Go on."}};
  const int64_t tokens = Generator(std::filesystem::path(at("chat"))).chat_tokens(messages);
  EXPECT_NE(outcome.err.find(fmt::format("timings: {} tokens of the prompt", tokens)), std::string::npos)
      << outcome.err;
}

TEST_F(Chat, ReadsOnlyWhatIsNewOfTheConversation) {
  const std::string ask = "for i in 1 2 3; do head -c 400 /dev/zero | tr '\\0' x; echo; done | ";
  const Outcome outcome = bash(ask + chat + "--timings"), proposed = bash(ask + chat + "--lookup 4 --timings");
  EXPECT_NE(outcome.err.find(" tokens more known from the turn before\n"), std::string::npos) << outcome.err;
  EXPECT_EQ(proposed.out, outcome.out);
  EXPECT_EQ(proposed.code, 0) << proposed.err;
}

TEST_F(Chat, ResetForgetsTheConversation) {
  EXPECT_EQ(bash("printf 'I am cold.\\n/reset\\nGo on.\\n' | " + chat).out,
            answers({"I am cold."}) + answers({"Go on."}));
}

TEST_F(Chat, SaveWritesTheMessages) {
  const Outcome outcome =
      bash("printf 'Go on.\\n/save talk.json\\n/save\\n/save no/folder/a\\n' | " + chat + "--system Hello");
  EXPECT_EQ(outcome.code, 1) << "of a file that was not written";
  EXPECT_NE(outcome.err.find("the conversation is in talk.json\n/save needs the name of a file\n"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("no/folder/a"), std::string::npos) << outcome.err;
  const Json saved = Json::parse(read_file(at("talk.json")));
  ASSERT_EQ(saved.size(), 3u);
  EXPECT_EQ(saved[0], Json(ChatMessage{"system", "Hello"}));
  EXPECT_EQ(saved[1], Json(ChatMessage{"user", "Go on."}));
  EXPECT_EQ(saved[2]["content"].text() + "\n", answers({"Go on."}, {{"system", "Hello"}}));
}

TEST_F(Chat, LinesWithASlashAreCommandsAndWithTwoMessages) {
  const Outcome outcome = bash("printf '/rest\\n//Go on.\\n/exit\\nI am cold.\\n' | " + chat);
  EXPECT_EQ(outcome.out, answers({"/Go on."}));
  EXPECT_EQ(outcome.err, "there is no command '/rest'; /help lists them\n");
  EXPECT_NE(bash("echo /help | " + chat).err.find("/save FILE"), std::string::npos);
}

TEST_F(Chat, SaysThatTheOldestTurnsNoLongerFit) {
  const std::string ask = "for i in 1 2 3; do head -c 1500 /dev/zero | tr '\\0' x; echo; done | ";
  const Outcome outcome = bash(ask + chat);
  EXPECT_EQ(outcome.code, 0);
  const std::string dropped = "the model reads at most 5999 tokens";
  EXPECT_EQ(outcome.err.find(dropped), std::string::npos) << outcome.err;
  const Outcome longer = bash("{ " + ask + "cat; head -c 4000 /dev/zero | tr '\\0' x; echo; } | " + chat);
  EXPECT_NE(longer.err.find("qkv chat: the oldest 2 turns were dropped: " + dropped), std::string::npos)
      << longer.err;
  const Outcome too_long = bash("{ head -c 9000 /dev/zero | tr '\\0' x; echo; echo 'Go on.'; } | " + chat);
  EXPECT_NE(too_long.err.find("stdin:1: the message is too long: with it the prompt has"), std::string::npos)
      << too_long.err;
  EXPECT_EQ(too_long.out, answers({"Go on."}));
}

TEST_F(Chat, NamesWhatItLookedForWhereThereIsNoTemplate) {
  expect_error(
      bash("qkv chat -m plain </dev/null"), 1,
      {"--model plain has no chat template", "chat_template.jinja", "tokenizer_config.json", "--template"});
  EXPECT_EQ(
      bash("echo 'Go on.' | qkv chat -m plain --temperature 0 --max-tokens 8 --template chat.jinja; true").out, "");
  write_file(at("chat.jinja"), turns);
  EXPECT_EQ(bash("echo 'Go on.' | qkv chat -m plain --temperature 0 --max-tokens 8 --template chat.jinja").out,
            answers({"Go on."}));
}

TEST_F(Chat, ATemplateThatCannotBeUsedIsKnownAtTheStart) {
  expect_error(bash(chat + "--template strict.jinja --system Hello"), 1,
               {"strict.jinja: the chat template, line 1", "refuses the conversation: no system"});
  write_file(at("wrong.jinja"), "\n{% if %}");
  expect_error(bash(chat + "--template wrong.jinja"), 1, {"wrong.jinja: the chat template, line 2"});
  expect_error(bash(chat + "--template /dev/null"), 1, {"--template /dev/null is empty"});
}

TEST_F(Chat, ReportsTimings) {
  const Outcome outcome = bash("printf 'Go on.\\nGo on.\\n' | " + chat + "--timings");
  for (const char* line : {"the model was read in", "of the prompt in", "generated in", "of memory at most"})
    EXPECT_NE(outcome.err.find(line), std::string::npos) << line << " is not in: " << outcome.err;
}

// The command at a terminal of its own.
class Terminal {
 public:
  explicit Terminal(const std::vector<std::string>& arguments) {
    process_ = ::forkpty(&terminal_, nullptr, nullptr, nullptr);
    if (process_ != 0) return;
    std::vector<char*> words;
    for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
    words.push_back(nullptr);
    ::execv(words[0], words.data());
    ::_exit(127);
  }
  ~Terminal() {
    if (process_ > 0) ::kill(process_, SIGKILL), ::waitpid(process_, nullptr, 0);
    ::close(terminal_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& keys) { ASSERT_EQ(::write(terminal_, keys.data(), keys.size()), std::ssize(keys)); }

  // What is shown from now on, up to this text; all of it if it ends before.
  std::string shown_until(const std::string& text) {
    std::string shown;
    while (shown.empty() || shown.find(text) == std::string::npos) {
      pollfd readable = {terminal_, POLLIN, 0};
      char bytes[4096];
      if (::poll(&readable, 1, 30'000) != 1) break;
      const ssize_t size = ::read(terminal_, bytes, sizeof bytes);
      if (size <= 0) break;
      shown.append(bytes, static_cast<size_t>(size));
    }
    return shown;
  }
  int code() {
    shown_until("nothing that is ever shown");
    int status = 0;
    ::waitpid(process_, &status, 0);
    process_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t process_ = 0;
  int terminal_ = -1;
};

TEST_F(Chat, CtrlCStopsAnAnswerAndAtThePromptEnds) {
  Terminal terminal({QKV_COMMAND, "chat", "--model", at("long"), "--min-tokens", "90000", "--max-tokens", "90000",
                     "--seed", "1"});
  EXPECT_NE(terminal.shown_until("> ").find("Ctrl-D ends"), std::string::npos);
  terminal.type("Go on.\n");
  terminal.shown_until("Go on.\r\n");
  terminal.shown_until("");  // some of the answer
  terminal.type("\x03");
  EXPECT_NE(terminal.shown_until("\n> ").find("\n> "), std::string::npos) << "the prompt returns";
  terminal.type("/save " + at("stopped.json") + "\n");
  terminal.shown_until("stopped.json\r\n> ");
  const Json saved = Json::parse(read_file(at("stopped.json")));
  ASSERT_EQ(saved.size(), 2u) << "what was written of the answer stays in the conversation";
  EXPECT_FALSE(saved[1]["content"].text().empty());
  terminal.type("\x03");
  EXPECT_EQ(terminal.code(), 128 + SIGINT);
}

TEST_F(Chat, EndsWithTheInput) {
  Terminal terminal({QKV_COMMAND, "chat", "--model", at("chat"), "--max-tokens", "4", "--temperature", "0"});
  terminal.shown_until("> ");
  terminal.type("Go on.\n");
  EXPECT_NE(terminal.shown_until("\n> ").find("Go on."), std::string::npos);
  terminal.type("\x04");
  EXPECT_EQ(terminal.code(), 0);
}

}  // namespace qkv::chat_command_test
