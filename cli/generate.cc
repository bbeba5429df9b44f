#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/sampling_seed.h"
#include "cli/text_input.h"
#include "cli/timings.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/pipeline/generator.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

constexpr const char* no_prompt = "";

struct GenerateCommand {
  std::string model, draft, prompt, input = "-", output = "-";
  std::vector<std::string> prompts;  // given as arguments
  InferenceOptions held;
  Option* prompt_flag = nullptr;
  GenerateTextOptions options;
  std::vector<Option*> flags;  // of the options
  bool scores = false, strict = false, quiet = false, show_timings = false;
  Timings timings;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    check_options(options);  // before anything is read
    check_draft("generate", draft, options);
    require<UsageError>(prompts.empty() || prompt_flag->count() == 0, "qkv generate",
                        "give prompts as arguments or one by --prompt, not both");
    const bool one = prompt_flag->count() > 0 || prompts.size() == 1;
    if (prompts.size() == 1) prompt = prompts.front();
    require<UsageError>(!one || input == "-", "qkv generate", "{} and --input exclude each other",
                        prompts.empty() ? "--prompt" : "a prompt as an argument");
    if (one)
      if (const auto at = utf8_error(prompt))
        fail<UsageError>("qkv generate", "the prompt: invalid UTF-8 at byte {}", *at + 1);
    timings = Timings();
    Generator generator = open_generator("generate", model, held);
    std::set<std::string> given = given_names(flags);
    if (!draft.empty()) given.insert("lookup");  // no beam either, unless it is given
    set_defaults(options, defaults_for(options, given, generator.defaults()), flags);
    check_options(options);
    check_draft("generate", draft, options);
    open_draft("generate", draft, held, generator);
    timings.model_read();
    if (!quiet)
      for (const std::string& ignored : ignored_by_generate(model)) say(ignored);
    draw_seed(options, flags, quiet);
    options.scores = scores;
    const int code = one ? answer_prompt(generator) : answer_lines(generator);
    if (show_timings) timings.print();
    return code;
  }

 private:
  // The only line breaks are those between answers.
  std::string lines_of(const GeneratedTexts& texts, std::string_view keep) const {
    std::string lines;
    for (const GeneratedText& answer : texts.answers) {
      if (scores) lines += fmt::format("{:.4f}\t", answer.score);
      lines += escape_controls(answer.text, keep) + "\n";
    }
    return options.answers == 1 ? lines : lines + "\n";
  }

  int answer_prompt(const Generator& generator) {
    Output out(output);
    bool truncated = false;
    if (options.beam == 1 && options.answers == 1 && !scores) {
      TextGeneration text = timings.measure_prompt([&] { return generator.stream(prompt, options); });
      truncated = text.truncated();
      const auto next = [&] { return text.next(); };
      for (auto piece = timings.measure_prompt(next); piece; piece = timings.measure(next)) {
        out.print(escape_controls(*piece, "\t\n"));
        out.flush();
      }
      out.print("\n");
      timings.add(prompt_tokens(generator, prompt), std::ssize(text.result().tokens));
      add_speculated(text.result());
    } else {
      const GeneratedTexts texts = timings.measure([&] { return generator.generate(prompt, options); });
      timings.add(prompt_tokens(generator, prompt), tokens_of(texts));
      for (const GeneratedText& one : texts.answers) add_speculated(one);
      truncated = texts.truncated;
      out.print(lines_of(texts, "\t\n"));
    }
    out.close();
    if (truncated) say(fmt::format("qkv generate: --prompt: {}", cut(generator)));
    return 0;
  }

  void add_speculated(const GeneratedText& answer) {
    timings.add_speculated(answer.speculated.proposed, answer.speculated.accepted);
  }

  int64_t prompt_tokens(const Generator& generator, const std::string& text) const {
    const int64_t limit = input_limit(generator.model().config(), options.max_input_tokens);
    return std::min(limit, std::ssize(generator.tokenizer().encode(text)));
  }

  static int64_t tokens_of(const GeneratedTexts& texts) {
    int64_t tokens = 0;
    for (const GeneratedText& answer : texts.answers) tokens += std::ssize(answer.tokens);
    return tokens;
  }

  std::string cut(const Generator& generator) const {
    const ModelConfig& config = generator.model().config();
    return too_long(config, input_limit(config, options.max_input_tokens)) + "; only its end was continued";
  }

  int answer_lines(const Generator& generator) {
    const std::string how_cut = cut(generator);
    LineReader lines =
        open_lines({.command = "generate", .input = input, .given = prompts, .what = "prompts", .quiet = quiet});
    LineJob job({.command = "generate",
                 .input = prompts.empty() ? input : "",
                 .output = output,
                 .strict = strict,
                 .quiet = quiet});
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      options.offsets.clear();
      for (size_t i = 0; i < read.size(); ++i)
        if (!read[i].bad) options.offsets.push_back(static_cast<int64_t>(i));
      const std::vector<GeneratedTexts> texts = timings.measure(
          [&] { return generator.generate(good_items(read), options, [&](int64_t done) { job.show(done); }); });
      auto next = texts.begin();
      for (const ReadLine<std::string>& line : read) {
        if (line.bad) {
          job.print("\n");
          continue;
        }
        if (next->truncated) job.report("were too long", fmt::format("{}: {}", line.where, how_cut));
        if (show_timings) timings.add(prompt_tokens(generator, line.item), tokens_of(*next));
        for (const GeneratedText& one : next->answers) add_speculated(one);
        job.print(lines_of(*next++, "\t"));
      }
      options.first_prompt += std::ssize(read);
    };
    return job.run([&] { job.answer<std::string>(lines, answer); });
  }
};

}  // namespace

Command add_generate(App& parent) {
  App& app = *parent.add_subcommand("generate", "continue a prompt, or every line of a text");
  const auto c = std::make_shared<GenerateCommand>();
  model_flag(app, c->model)->required();
  texts_argument(app, c->prompts, "text to continue, as --prompt; or several texts", "TEXT");
  app.group("Input and output");
  c->prompt_flag =
      flag(app, "--prompt", c->prompt, "text to continue; the continuation is printed as it grows", "TEXT")
          ->default_str(no_prompt);
  flag(app, "--input", c->input, "or prompts, one per line; plain, gzip or zstd; -: standard input", "FILE");
  flag(app, "--output", c->output, "continuations, in the order of the prompts; -: standard output", "FILE");
  app.add_flag(
      "--scores", c->scores,
      "print the log-probability and a tab before each answer; with --beam, divided by the length penalty");
  c->flags = decoding_flags(app, c->options,
                            {.notes = {{"answers", "; each list ends with a blank line"},
                                       {"seed", "; default: another one in each run"}}});
  app.get_option("--seed")->default_str("");
  draft_flag(app, c->draft);
  strict_flag(app, c->strict);
  quiet_flag(app, c->quiet);
  timings_flag(app, c->show_timings);
  weight_flags(app, c->held);
  cache_flag(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv generate -m stories \"Once upon a time\" --temperature 0.8 --top-p 0.95\n"
      "  qkv generate -m stories -i prompts.txt --temperature 0 --stop \". \" -o answers.txt\n"
      "  qkv generate -m stories -p \"The king\" --answers 3 --seed 7 --scores\n"
      "  qkv generate -m coder -i files.txt --temperature 0 --lookup 10");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
