#include <algorithm>
#include <memory>
#include <optional>
#include <random>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/line_job.h"
#include "cli/model_defaults.h"
#include "cli/model_folder.h"
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
  std::string model, prompt, input = "-", output = "-";
  std::vector<std::string> prompts;  // given as arguments
  InferenceOptions held;
  Option* prompt_flag = nullptr;
  GenerateTextOptions options;
  Option *beam_flag = nullptr, *temperature_flag = nullptr, *seed_flag = nullptr;
  std::vector<Option*> sampling_flags;  // a beam search does not sample
  ModelDefaults<GenerateTextOptions> defaults;
  ModelDefaults<SamplingOptions> sampling_defaults;
  bool scores = false, strict = false, quiet = false, show_timings = false;
  Timings timings;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    check_options(options);  // before anything is read
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
    const Generator generator = open_generator("generate", model, held);
    timings.model_read();
    take_defaults(generator.defaults());
    if (!quiet)
      for (const std::string& ignored : ignored_by_generate(model)) say(ignored);
    draw_seed();
    const int code = one ? answer_prompt(generator) : answer_lines(generator);
    if (show_timings) timings.print();
    return code;
  }

 private:
  // Each run draws other texts, unless the seed is given; small enough to be typed.
  void draw_seed() {
    if (seed_flag->count() > 0 || options.beam != 1 || options.sampling.temperature == 0) return;
    options.sampling.seed = std::random_device()() % 1'000'000;
    if (!quiet) say(fmt::format("drawing tokens at random; --seed {} repeats this", options.sampling.seed));
  }

  void take_defaults(const GenerateTextOptions& of_model) {
    defaults.take(options, of_model);
    const bool samples = std::any_of(sampling_flags.begin(), sampling_flags.end(),
                                     [](const Option* given) { return given->count() > 0; });
    if (beam_flag->count() == 0 && !samples) options.beam = of_model.beam;
    if (options.beam == 1) sampling_defaults.take(options.sampling, of_model.sampling);
    // A limit on what is drawn asks for drawing.
    const bool limits = options.sampling.top_k != of_model.sampling.top_k ||
                        options.sampling.top_p != of_model.sampling.top_p ||
                        options.sampling.min_p != of_model.sampling.min_p;
    if (limits && temperature_flag->count() == 0 && of_model.sampling.temperature == 0)
      options.sampling.temperature = 1;
    check_options(options);
  }

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
      TextGeneration text = timings.measure([&] { return generator.stream(prompt, options); });
      truncated = text.truncated();
      const auto next = [&] { return timings.measure([&] { return text.next(); }); };
      std::optional<std::string> piece = next();
      timings.prompt_done();
      for (; piece; piece = next()) {
        out.print(escape_controls(*piece, "\t\n"));
        out.flush();
      }
      out.print("\n");
      timings.add(prompt_tokens(generator, prompt), std::ssize(text.result().tokens));
    } else {
      const GeneratedTexts texts = timings.measure([&] { return generator.generate(prompt, options); });
      timings.add(prompt_tokens(generator, prompt), tokens_of(texts));
      truncated = texts.truncated;
      out.print(lines_of(texts, "\t\n"));
    }
    out.close();
    if (truncated) say(fmt::format("qkv generate: --prompt: {}", cut(generator)));
    return 0;
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
    const TransformerConfig& config = generator.model().config();
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
  GenerateTextOptions& o = c->options;
  model_flag(app, c->model)->required();
  texts_argument(app, c->prompts, "text to continue, as --prompt; or several texts", "TEXT");
  app.group("Input and output");
  c->prompt_flag =
      flag(app, "--prompt", c->prompt, "text to continue; the continuation is printed as it grows", "TEXT")
          ->default_str(no_prompt);
  flag(app, "--input", c->input, "or prompts, one per line; plain or gzip; -: standard input", "FILE");
  flag(app, "--output", c->output, "continuations, in the order of the prompts; -: standard output", "FILE");
  app.group("Length");
  ModelDefaults<GenerateTextOptions>& of_model = c->defaults;
  const auto of_sampling = [&](Option* given, auto SamplingOptions::*option) {
    c->sampling_flags.push_back(given);
    c->sampling_defaults.of(given, option);
  };
  of_model.of(flag(app, "--max-tokens", o.max_tokens, "maximum length of an answer", "TOKENS"),
              &GenerateTextOptions::max_tokens);
  of_model.of(flag(app, "--min-tokens", o.min_tokens, "minimum length of an answer", "TOKENS"),
              &GenerateTextOptions::min_tokens);
  app.group("Sampling");
  c->temperature_flag = flag(app, "--temperature", o.sampling.temperature,
                             "divides the logits before a token is drawn; 0: always the most likely token", "T");
  of_sampling(c->temperature_flag, &SamplingOptions::temperature);
  of_sampling(flag(app, "--top-k", o.sampling.top_k, "draw from the K most likely tokens; 0: from all", "K"),
              &SamplingOptions::top_k);
  of_sampling(
      flag(app, "--top-p", o.sampling.top_p,
           "nucleus sampling: draw from the smallest set of tokens whose probabilities sum to P; 1: from all", "P"),
      &SamplingOptions::top_p);
  of_sampling(flag(app, "--min-p", o.sampling.min_p,
                   "draw from tokens with at least P times the highest probability; 0: from all", "P"),
              &SamplingOptions::min_p);
  of_sampling(flag(app, "--repetition-penalty", o.sampling.repetition_penalty,
                   "makes tokens that occurred before less likely; 1: none", "R"),
              &SamplingOptions::repetition_penalty);
  of_sampling(flag(app, "--no-repeat-ngram", o.sampling.no_repeat_ngram,
                   "no sequence of N tokens occurs twice; 0: no such limit", "N"),
              &SamplingOptions::no_repeat_ngram);
  c->sampling_flags.push_back(list_flag(app, "--stop", o.stop,
                                        "text that ends an answer and is not printed; may be given several times",
                                        "TEXT")
                                  ->group("Length"));
  app.add_flag(
         "--parse-special", o.parse_special,
         "read special tokens of the vocabulary in a prompt, such as <|im_start|>, as these tokens; default: as "
         "text")
      ->group("Input and output");
  c->seed_flag =
      flag(app, "--seed", o.sampling.seed, "seed of the random numbers; default: another one in each run", "N")
          ->default_str("");
  flag(app, "--answers", o.answers,
       "number of answers to each prompt, at most --beam if that is not 1; each list ends with a blank line", "N")
      ->group("Input and output");
  app.group("Beam search");
  c->beam_flag = flag(app, "--beam", o.beam, "beam size, to search for the most likely text; 1: draw tokens", "N");
  of_model.of(flag(app, "--length-penalty", o.length_penalty,
                   "exponent alpha of the length penalty of beam search; 0: none", "ALPHA"),
              &GenerateTextOptions::length_penalty);
  of_model.of(
      choice(app, "--length-normalization", o.length_normalization,
             "length penalty of LENGTH tokens: ((5 + LENGTH) / 6)^ALPHA (Wu et al., 2016), or LENGTH^ALPHA"),
      &GenerateTextOptions::length_normalization);
  app.group("Input and output");
  app.add_flag(
      "--scores", c->scores,
      "print the log-probability and a tab before each answer; with --beam, divided by the length penalty");
  batch_tokens_flag(app, o.batch_tokens, "batch size in tokens times --beam");
  max_input_tokens_flag(app, o.max_input_tokens);
  strict_flag(app, c->strict);
  quiet_flag(app, c->quiet);
  timings_flag(app, c->show_timings);
  weights_flag(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv generate -m stories \"Once upon a time\" --temperature 0.8 --top-p 0.95\n"
      "  qkv generate -m stories -i prompts.txt --temperature 0 --stop \". \" -o answers.txt\n"
      "  qkv generate -m stories -p \"The king\" --answers 3 --seed 7 --scores");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
