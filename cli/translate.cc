#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/line_job.h"
#include "cli/model_defaults.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "cli/search_flags.h"
#include "qkv/base/threads.h"
#include "qkv/decode/alignment.h"
#include "qkv/decode/generation_config.h"
#include "qkv/decode/translator.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct TranslateCommand {
  std::string model, input = "-", output = "-";
  InferenceOptions held;
  TranslateOptions options;
  ModelDefaults<TranslateOptions> defaults;
  bool scores = false, alignment = false, prefixes = false, strict = false, quiet = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    options.alignment = alignment;
    check_options(options);  // before anything is read
    const Translator translator = open_translator("translate", model, held);
    defaults.take(options, translator.defaults());
    check_options(options);
    if (!quiet)
      for (const std::string& ignored : ignored_by_translate(model)) say(ignored);
    const TransformerConfig& config = translator.model().config();
    const std::string longer = too_long(config, input_limit(config, options.max_input_tokens));
    LineReader lines(input);
    LineJob job({.command = "translate", .input = input, .output = output, .strict = strict, .quiet = quiet});
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      std::vector<std::string> sentences;
      options.prefixes.clear();
      for (const std::string& line : good_items(read)) {
        const size_t tab = prefixes ? line.find('\t') : std::string::npos;
        sentences.push_back(line.substr(0, tab));
        if (prefixes) options.prefixes.push_back(tab == std::string::npos ? "" : line.substr(tab + 1));
      }
      const std::vector<Translation> translations =
          translator.translate(sentences, options, [&](int64_t done) { job.show(done); });
      auto next = translations.begin();
      for (const ReadLine<std::string>& line : read) {
        if (line.bad) {
          job.print("\n");
          continue;
        }
        if (next->truncated)
          job.report("were too long", fmt::format("{}: {}; the rest was not translated", line.where, longer));
        job.print(lines_of(*next++));
      }
    };
    return job.run([&] { job.answer<std::string>(lines, answer); });
  }

 private:
  // n-best lists end with a blank line, so empty translations are left out of them.
  std::string lines_of(const Translation& t) const {
    if (options.n_best == 1) return line_of(t) + "\n";
    std::string lines;
    for (const Candidate& answer : t.n_best)
      if (const std::string line = line_of(answer); !line.empty()) lines += line + "\n";
    return lines + "\n";
  }

  std::string line_of(const Candidate& answer) const {
    std::string line = escape_controls(answer.text, "\t");
    if (scores) line = fmt::format("{:.4f}\t{}", answer.score, line);
    if (alignment) line += "\t" + links(answer);
    return line;
  }

  // "0-0 1-2": the links SOURCE-TARGET of the alignment (alignment.h); a target token without a link has none here.
  static std::string links(const Candidate& answer) {
    if (!answer.alignment.defined()) return "";
    std::string text;
    int64_t target = 0;
    for (const std::optional<int64_t> source : alignment_links(answer.alignment)) {
      if (source) text += fmt::format("{}{}-{}", text.empty() ? "" : " ", *source, target);
      ++target;
    }
    return text;
  }
};

}  // namespace

Command add_translate(App& parent) {
  App& app = *parent.add_subcommand("translate", "translate text line by line");
  const auto c = std::make_shared<TranslateCommand>();
  model_flag(app, c->model)->required();
  weights_flag(app, c->held);
  flag(app, "--input", c->input, "text, one sentence per line; plain or gzip; -: standard input", "FILE");
  flag(app, "--output", c->output, "translations, one per line, in the order of the input; -: standard output",
       "FILE");
  ModelDefaults<TranslateOptions>& of_model = c->defaults;
  add_search_flags(app, c->options, of_model);
  of_model.of(flag(app, "--no-repeat-ngram", c->options.no_repeat_ngram,
                   "no sequence of N tokens occurs twice in a translation; 0: no such limit", "N"),
              &TranslateOptions::no_repeat_ngram);
  flag(app, "--n-best", c->options.n_best,
       "number of translations per sentence, at most --beam without --alternatives; each list ends with a blank "
       "line",
       "N");
  app.add_flag("--alternatives", c->options.alternatives,
               "the --n-best translations differ in their first token, or in the first one after the prefix");
  app.add_flag("--target-prefix", c->prefixes,
               "lines are SENTENCE TAB PREFIX: the whole words that the translation begins with");
  flag(app, "--source-language", c->options.source_language,
       "language of the input, for a multilingual model: the name of its token, such as eng_Latn", "TOKEN");
  flag(app, "--target-language", c->options.target_language, "language of the translations", "TOKEN");
  app.add_flag("--scores", c->scores, "print the score and a tab before each translation");
  app.add_flag("--alignment", c->alignment,
               "print a tab and SOURCE-TARGET token alignments after each translation");
  of_model.of(flag(app, "--min-length", c->options.min_length, "minimum length of a translation", "TOKENS"),
              &TranslateOptions::min_length);
  app.add_flag("--strict", c->strict,
               "stop at a line that cannot be read or tokenized; default: write an empty line in its place");
  quiet_flag(app, c->quiet);
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
