#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <string_view>
#include <unistd.h>

#include "cli/command.h"
#include "cli/conversation.h"
#include "cli/decoding_flags.h"
#include "cli/exit_code.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "cli/sampling_seed.h"
#include "cli/timings.h"
#include "qkv/base/file.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/text/lines.h"
#include "qkv/text/utf8.h"
#include "qkv/train/interrupt.h"

namespace qkv::cli {
namespace {

constexpr const char* help =
    "/reset       forget the conversation, but not --system\n"
    "/save FILE   write the conversation to a file, as JSON\n"
    "/help        print this\n"
    "/exit        end, as the end of the input does\n"
    "Ctrl-C stops an answer. A message that begins with / is written with //.";

struct ChatCommand {
  std::string model, draft, system, template_file;
  InferenceOptions held;
  GenerateTextOptions options;
  std::vector<Option*> flags;  // of the options
  bool strict = false, quiet = false, show_timings = false;
  Timings timings;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    check_options(options);  // before anything is read
    check_draft("chat", draft, options);
    if (const auto at = utf8_error(system))
      fail<UsageError>("qkv chat", "--system: invalid UTF-8 at byte {}", *at + 1);
    is_typed_ = ::isatty(STDIN_FILENO) == 1;
    code_ = 0;
    timings = Timings();
    ChatOptions how;
    if (!template_file.empty()) {
      how.chat_template = {.text = read_file_or_pipe(template_file, ChatTemplateLimits{}.template_bytes),
                           .file = template_file};
      require<InputError>(!how.chat_template.text.empty(), "qkv chat", "--template {} is empty", template_file);
    }
    options.scores = false;
    Generator generator = open_generator("chat", model, held);
    check_template(generator, how);
    set_defaults(options, defaults_for(options, given_names(flags), generator.defaults()), flags);
    if (options.beam != 1)
      options.beam = 1, options.sampling.temperature = 0;  // what a model without sampling asks for
    options.answers = 1;
    check_options(options);
    check_draft("chat", draft, options);
    open_draft("chat", draft, held, generator);
    timings.model_read();
    if (!quiet)
      for (const std::string& ignored : ignored_by_generate(model)) say(ignored);
    draw_seed(options, flags, quiet);
    converse(generator, how);
    if (show_timings) timings.print();
    return code_;
  }

 private:
  // Renders a conversation, so that a template that is wrong or takes no system message is known before one begins.
  void check_template(const Generator& generator, const ChatOptions& how) const {
    const ChatTemplateSource& source = generator.chat_template();
    require<InputError>(
        !source.text.empty() || !how.chat_template.text.empty(), "qkv chat",
        "--model {} has no chat template ({}): give one by --template FILE, or continue a text as it "
        "is by qkv generate",
        model, source.file);
    Conversation trial(generator, how, system);
    trial.ask("Hello");
    generator.chat_tokens(trial.messages(), how);
  }

  void converse(const Generator& generator, const ChatOptions& how) {
    Conversation conversation(generator, how, system);
    LineReader lines("-");
    if (is_typed_ && !quiet) say("type a message; /help lists the commands, Ctrl-D ends");
    for (std::string line; next_line(lines, line);) {
      if (line.find_first_not_of(" \t") == line.npos) continue;
      if (line.starts_with('/') && !line.starts_with("//")) {
        if (!run_command(conversation, line)) return;
      } else {
        answer(generator, how, conversation, line.substr(line.starts_with("//") ? 1 : 0), lines.where());
        if (code_ > bad_input) return;  // a signal
      }
    }
    if (is_typed_) std::fputs("\n", stderr);
  }

  // A line that cannot be read is reported, and the next one taken.
  bool next_line(LineReader& lines, std::string& line) {
    for (;;) {
      if (is_typed_) std::fputs("> ", stderr);
      try {
        return lines.next(line);
      } catch (const LineError& error) {
        report(error);
      }
    }
  }

  void report(const InputError& error) {
    if (strict) throw InputError(error);
    say(error.what());
  }

  // False: /exit.
  bool run_command(Conversation& conversation, const std::string& line) {
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    const std::string name = line.substr(0, end);
    const size_t begin = std::min(line.find_first_not_of(" \t", end), line.size());
    const std::string rest = line.substr(begin, line.find_last_not_of(" \t") + 1 - begin);
    if (name == "/save" && !rest.empty()) {
      save(conversation, rest);
    } else if (!rest.empty() || (name != "/reset" && name != "/exit" && name != "/help")) {
      say(name == "/save" ? "/save needs the name of a file"
                          : fmt::format("there is no command {}; /help lists them", quoted_name(line).text()));
    } else if (name == "/reset") {
      conversation.reset();
    } else if (name == "/help") {
      std::fprintf(stderr, "%s\n", help);
    }
    return name != "/exit" || !rest.empty();
  }

  void save(const Conversation& conversation, const std::string& file) {
    try {
      write_file(file, Json(conversation.messages()).dump(2) + "\n");
      if (!quiet) say("the conversation is in " + file);
    } catch (const FileError& error) {
      say(error.what());
      if (!is_typed_) code_ = bad_input;
    }
  }

  void answer(const Generator& generator, const ChatOptions& how, Conversation& conversation,
              const std::string& line, const std::string& where) {
    conversation.ask(line);
    try {
      if (const int64_t dropped = conversation.fit(options.max_tokens))
        say(fmt::format("qkv chat: the oldest {} dropped: the model reads at most {} tokens",
                        dropped == 1 ? "turn was" : fmt::format("{} turns were", dropped), conversation.limit()));
      const std::optional<std::string> text = written_answer(generator, how, conversation);
      text ? conversation.answered(*text) : conversation.take_back();
    } catch (const InputError& error) {
      if (dynamic_cast<const FileError*>(&error)) throw;  // the output
      conversation.take_back();
      std::string_view what = error.what();
      if (error.op() == "qkv chat") what.remove_prefix(error.op().size() + 2);
      report(is_typed_ ? InputError(error) : InputError(where, std::string(what)));
    }
  }

  // Written as it grows, without the white space that it begins with. None: Ctrl-C stopped it before its first word.
  std::optional<std::string> written_answer(const Generator& generator, const ChatOptions& how,
                                            const Conversation& conversation) {
    std::optional<Interrupt> interrupt;
    if (is_typed_) interrupt.emplace();
    const auto stopped = [&] { return interrupt && interrupt->requested(); };
    Output out("-");
    TextGeneration text =
        timings.measure_prompt([&] { return generator.stream_chat(conversation.messages(), options, how); });
    ++options.first_prompt;
    std::string written;
    const auto next = [&] { return text.next(); };
    for (auto piece = timings.measure_prompt(next); piece && !stopped(); piece = timings.measure(next)) {
      if (written.empty()) piece->erase(0, piece->find_first_not_of(" \n\t"));
      written += *piece;
      out.print(escape_controls(*piece, "\t\n"));
      out.flush();
    }
    out.print("\n");
    out.flush();
    const GeneratedText& answer = text.result();
    timings.add(text.prompt_tokens() - text.reused_tokens(), std::ssize(answer.tokens));
    timings.add_reused(text.reused_tokens());
    timings.add_speculated(answer.speculated.proposed, answer.speculated.accepted);
    if (stopped() && interrupt->signal() != SIGINT) code_ = 128 + interrupt->signal();
    if (stopped() && written.empty()) return {};
    return written;
  }

  bool is_typed_ = false;
  int code_ = 0;
};

}  // namespace

Command add_chat(App& parent) {
  App& app = *parent.add_subcommand("chat", "talk with a model that has a chat template");
  const auto c = std::make_shared<ChatCommand>();
  model_flag(app, c->model)->required();
  app.group("Conversation");
  flag(app, "--system", c->system, "how the model should answer, as the first message", "TEXT");
  flag(app, "--template", c->template_file, "chat template in Jinja; default: that of the model", "FILE");
  c->flags = decoding_flags(app, c->options,
                            {.notes = {{"seed", "; default: another one in each run"}},
                             .headings = {"Length", "Sampling", "Speculation"}});
  app.get_option("--seed")->default_str("");
  draft_flag(app, c->draft);
  app.add_flag("--strict", c->strict, "stop at a message that cannot be read or answered; default: report it")
      ->group("Conversation");
  quiet_flag(app, c->quiet);
  timings_flag(app, c->show_timings);
  weight_flags(app, c->held);
  cache_flag(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "A message is a line of standard input; answers go to standard output as they grow.\n"
      "Lines that begin with / are commands: /reset  /save FILE  /help  /exit\n\n"
      "Examples:\n"
      "  qkv chat -m qwen\n"
      "  qkv chat -m qwen --system \"Answer in one sentence.\" --temperature 0\n"
      "  qkv chat -m qwen --quiet < questions.txt > answers.txt");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
