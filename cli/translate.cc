#include <memory>
#include <utility>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/distinct_lines.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "cli/shards.h"
#include "cli/text_input.h"
#include "cli/timings.h"
#include "qkv/base/threads.h"
#include "qkv/decode/alignment.h"
#include "qkv/pipeline/generation_config.h"
#include "qkv/pipeline/translator.h"
#include "qkv/text/language_tokens.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct TranslateCommand {
  std::string model, input = "-", output = "-", terms, shortlist;
  std::vector<std::string> sentences;  // given as arguments
  InferenceOptions held;
  TranslateOptions options;
  std::vector<Option*> flags;  // of the options
  bool warned_of_tab = false, warned_of_language = false;
  bool scores = false, alignment = false, prefixes = false, strict = false, quiet = false, show_timings = false;
  int threads = 0;
  Shards shards;

  int run() {
    if (threads > 0) set_threads(threads);
    check_options(options);  // before anything is read
    const std::vector<Term> given_terms = terms.empty() ? std::vector<Term>() : read_terms(terms);
    const std::unique_ptr<ResumableFile> shard = shards.open_output(
        {.command = "translate", .model = model, .input = sentences.empty() ? input : "", .output = output});
    if (shard && shard->complete()) return shards.report_complete(output, quiet);
    Timings timings;
    Translator translator = open_translator("translate", model, held);
    if (!shortlist.empty()) translator.use_shortlist(shortlist);
    timings.model_read();
    set_defaults(options, translator.defaults(), flags);
    options.terms = given_terms;
    options.search.alignment = alignment;
    options.search.scores = scores;
    check_options(options);
    if (!quiet)
      for (const std::string& ignored : ignored_by_translate(model)) say(ignored);
    const ModelConfig& config = translator.model().config();
    const std::string longer = too_long(config, input_limit(config, options.max_input_tokens));
    LineReader lines = shard ? shards.open_lines(input, *shard)
                             : open_lines({.command = "translate",
                                           .input = input,
                                           .given = sentences,
                                           .what = "sentences",
                                           .quiet = quiet});
    LineJob job({.command = "translate",
                 .input = sentences.empty() ? input : "",
                 .output = output,
                 .strict = strict,
                 .quiet = quiet,
                 .resumable = shard.get(),
                 .json_progress = shards.json_progress()});
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      std::vector<std::string> sources;
      options.prefixes.clear();
      warn_of_tab(read);
      const DistinctLines<std::string> distinct(read);
      for (const std::string& line : distinct.items()) {
        const size_t tab = prefixes ? line.find('\t') : std::string::npos;
        sources.push_back(line.substr(0, tab));
        if (prefixes) options.prefixes.push_back(tab == std::string::npos ? "" : line.substr(tab + 1));
      }
      const std::vector<Translation> translations = distinct.compute([&] {
        return timings.measure(
            [&] { return translator.translate(sources, options, [&](int64_t done) { job.show(done); }); });
      });
      for (const Translation& t : translations) timings.add(std::ssize(t.source_tokens), std::ssize(t.tokens));
      warn_of_language(translator);
      size_t good = 0;
      for (const ReadLine<std::string>& line : read) {
        if (line.bad) {
          job.print("\n");
          continue;
        }
        const Translation& translation = translations[distinct.index(good++)];
        if (translation.truncated)
          job.report("were too long", fmt::format("{}: {}; the rest was not translated", line.where, longer));
        job.print(lines_of(translation));
      }
    };
    const int code = job.run([&] { job.answer<std::string>(lines, answer); });
    if (show_timings) timings.print();
    return code;
  }

 private:
  // A model of many languages that is not told which one to write writes any of them. In Marian's models, whose tokens
  // are >>de<<, a sentence may begin with it.
  void warn_of_language(const Translator& translator) {
    if (quiet || std::exchange(warned_of_language, true) || !options.target_language.empty() ||
        translator.target().special().forced_first)
      return;
    const std::vector<std::string> languages = language_tokens(translator.target());
    if (languages.size() < 2 || languages.front().starts_with(">>")) return;
    say(fmt::format("this model has {} languages, and none is chosen: --target-language {}, for example",
                    languages.size(), languages.front()));
  }

  // A line of a TSV file would be translated as one sentence, source and target.
  void warn_of_tab(const std::vector<ReadLine<std::string>>& lines) {
    if (prefixes || warned_of_tab) return;
    for (const ReadLine<std::string>& line : lines) {
      if (line.item.find('\t') == std::string::npos) continue;
      warned_of_tab = true;
      return say(fmt::format(
          "{}: this line has a tab, and all of it is translated; did you mean qkv evaluate, or --target-prefix?",
          line.where));
    }
  }

  // n-best lists end with a blank line, so empty translations are left out of them.
  std::string lines_of(const Translation& t) const {
    if (options.search.n_best == 1) return line_of(t) + "\n";
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
  texts_argument(app, c->sentences, "sentences to translate, instead of --input", "SENTENCE");
  app.group("Input and output");
  flag(app, "--input", c->input, "text, one sentence per line; plain, gzip or zstd; -: standard input", "FILE");
  flag(app, "--output", c->output, "translations, one per line, in the order of the input; -: standard output",
       "FILE");
  c->flags = decoding_flags(app, c->options, {.notes = {{"n-best", "; each list ends with a blank line"}}});
  flag(app, "--shortlist", c->shortlist,
       "translations consist of the tokens that this shortlist, made by qkv shortlist, has for the tokens of their "
       "sentences: faster; scores are higher than without",
       "FILE")
      ->group("Search");
  app.group("Output of a line");
  app.add_flag("--target-prefix", c->prefixes,
               "lines are SENTENCE TAB PREFIX: the whole words that the translation begins with");
  flag(app, "--terms", c->terms,
       "terms and their translations, SOURCE TAB TARGET on each line: where a sentence has the term, its "
       "translation has "
       "the translation of the term",
       "FILE");
  app.add_flag("--scores", c->scores, "print the score and a tab before each translation");
  app.add_flag("--alignment", c->alignment,
               "print a tab and SOURCE-TARGET token alignments after each translation");
  c->shards.add_flags(app);
  strict_flag(app, c->strict);
  quiet_flag(app, c->quiet);
  timings_flag(app, c->show_timings);
  weight_flags(app, c->held);
  cache_flag(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv translate -m my-model \"I am cold.\" \"Go on.\"\n"
      "  qkv translate -m my-model -i sentences.txt -o translations.txt --beam 8\n"
      "  qkv translate -m my-model --n-best 3 --scores < sentences.txt\n"
      "  qkv translate -m my-model -i corpus.txt.zst -o out.2.zst --shards 7 --shard 2\n"
      "  qkv translate -m my-model --terms terms.tsv -i sentences.txt\n"
      "  qkv translate -m my-model --shortlist my-model.shortlist -i sentences.txt");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
