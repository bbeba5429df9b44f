#include <algorithm>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/line_job.h"
#include "cli/model_defaults.h"
#include "cli/model_folder.h"
#include "qkv/base/threads.h"
#include "qkv/decode/generation_config.h"
#include "qkv/decode/generator.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

constexpr const char* no_prompt = "";

struct GenerateCommand {
  std::string model, prompt, input = "-", output = "-";
  InferenceOptions held;
  Option* prompt_flag = nullptr;
  GenerateTextOptions options;
  Option *beam_flag = nullptr, *temperature_flag = nullptr;
  std::vector<Option*> sampling_flags;  // a beam search does not sample
  ModelDefaults<GenerateTextOptions> defaults;
  ModelDefaults<SamplingOptions> sampling_defaults;
  bool scores = false, strict = false, quiet = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    check_options(options);  // before anything is read
    const bool one = prompt_flag->count() > 0;
    require<UsageError>(!one || input == "-", "qkv generate", "--prompt and --input exclude each other");
    if (one)
      if (const auto at = utf8_error(prompt))
        fail<UsageError>("qkv generate", "--prompt: invalid UTF-8 at byte {}", *at + 1);
    const Generator generator = open_generator("generate", model, held);
    take_defaults(generator.defaults());
    if (!quiet)
      for (const std::string& ignored : ignored_by_generate(model)) say(ignored);
    if (one) return answer_prompt(generator);
    return answer_lines(generator);
  }

 private:
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

  int answer_prompt(const Generator& generator) const {
    Output out(output);
    bool truncated = false;
    if (options.beam == 1 && options.answers == 1 && !scores) {
      TextGeneration text = generator.stream(prompt, options);
      truncated = text.truncated();
      while (const std::optional<std::string> piece = text.next()) {
        out.print(escape_controls(*piece, "\t\n"));
        out.flush();
      }
      out.print("\n");
    } else {
      const GeneratedTexts texts = generator.generate(prompt, options);
      truncated = texts.truncated;
      out.print(lines_of(texts, "\t\n"));
    }
    out.close();
    if (truncated) say(fmt::format("qkv generate: --prompt: {}", cut(generator)));
    return 0;
  }

  std::string cut(const Generator& generator) const {
    const TransformerConfig& config = generator.model().config();
    return too_long(config, input_limit(config, options.max_input_tokens)) + "; only its end was continued";
  }

  int answer_lines(const Generator& generator) {
    const std::string how_cut = cut(generator);
    LineReader lines(input);
    LineJob job({.command = "generate", .input = input, .output = output, .strict = strict, .quiet = quiet});
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      options.offsets.clear();
      for (size_t i = 0; i < read.size(); ++i)
        if (!read[i].bad) options.offsets.push_back(static_cast<int64_t>(i));
      const std::vector<GeneratedTexts> texts =
          generator.generate(good_items(read), options, [&](int64_t done) { job.show(done); });
      auto next = texts.begin();
      for (const ReadLine<std::string>& line : read) {
        if (line.bad) {
          job.print("\n");
          continue;
        }
        if (next->truncated) job.report("were too long", fmt::format("{}: {}", line.where, how_cut));
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
  weights_flag(app, c->held);
  c->prompt_flag =
      flag(app, "--prompt", c->prompt, "text to continue; the continuation is printed as it grows", "TEXT")
          ->default_str(no_prompt);
  flag(app, "--input", c->input, "or prompts, one per line; plain or gzip; -: standard input", "FILE");
  flag(app, "--output", c->output, "continuations, in the order of the prompts; -: standard output", "FILE");
  ModelDefaults<GenerateTextOptions>& of_model = c->defaults;
  const auto of_sampling = [&](Option* given, auto SamplingOptions::*option) {
    c->sampling_flags.push_back(given);
    c->sampling_defaults.of(given, option);
  };
  of_model.of(flag(app, "--max-tokens", o.max_tokens, "maximum length of an answer", "TOKENS"),
              &GenerateTextOptions::max_tokens);
  of_model.of(flag(app, "--min-tokens", o.min_tokens, "minimum length of an answer", "TOKENS"),
              &GenerateTextOptions::min_tokens);
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
  c->sampling_flags.push_back(list_flag(
      app, "--stop", o.stop, "text that ends an answer and is not printed; may be given several times", "TEXT"));
  app.add_flag(
      "--parse-special", o.parse_special,
      "read special tokens of the vocabulary in a prompt, such as <|im_start|>, as these tokens; default: as "
      "text");
  flag(app, "--seed", o.sampling.seed, "seed of the random numbers", "N");
  flag(app, "--answers", o.answers,
       "number of answers to each prompt, at most --beam if that is not 1; each list ends with a blank line", "N");
  c->beam_flag = flag(app, "--beam", o.beam, "beam size, to search for the most likely text; 1: draw tokens", "N");
  of_model.of(flag(app, "--length-penalty", o.length_penalty,
                   "exponent alpha of the length penalty of beam search; 0: none", "ALPHA"),
              &GenerateTextOptions::length_penalty);
  of_model.of(
      choice(app, "--length-normalization", o.length_normalization,
             "length penalty of LENGTH tokens: ((5 + LENGTH) / 6)^ALPHA (Wu et al., 2016), or LENGTH^ALPHA"),
      &GenerateTextOptions::length_normalization);
  app.add_flag(
      "--scores", c->scores,
      "print the log-probability and a tab before each answer; with --beam, divided by the length penalty");
  flag(app, "--batch-tokens", o.batch_tokens, "batch size in tokens times --beam", "TOKENS");
  max_input_tokens_flag(app, o.max_input_tokens);
  app.add_flag("--strict", c->strict,
               "stop at a line that cannot be read or tokenized; default: write an empty line in its place");
  quiet_flag(app, c->quiet);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv generate --model stories --prompt \"Once upon a time\" --temperature 0.8 --top-p 0.95\n"
      "  qkv generate --model stories --input prompts.txt --temperature 0 --stop \". \" --output answers.txt\n"
      "  qkv generate --model stories --prompt \"The king\" --answers 3 --seed 7 --scores");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
