#include <memory>

#include "cli/answer_lines.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "qkv/base/threads.h"
#include "qkv/decode/alignment.h"
#include "qkv/decode/translator.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct TranslateCommand {
  std::string model, input = "-", output = "-";
  TranslateOptions options;
  bool scores = false, alignment = false, strict = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    options.alignment = alignment;
    check_options(options);  // wrong numbers are told before anything is read
    const Translator translator{std::filesystem::path(model)};
    Output out(output);
    LineReader lines(input);
    LineReports reports;
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      std::vector<std::string> sentences;
      for (const ReadLine<std::string>& line : read) sentences.push_back(line.item);
      const std::vector<Translation> translations = translator.translate(sentences, options);
      for (size_t i = 0; i < read.size(); ++i) {
        if (translations[i].truncated)
          reports.add("were too long", fmt::format("{}: longer than the model's {} tokens; its end was left out",
                                                   read[i].where, translator.model().config().position_limit()));
        read[i].bad ? out.print("\n") : write(out, translations[i]);
      }
      out.flush();
    };
    answer_lines<std::string>(lines, reports, {.strict = strict}, answer);
    out.close();
    reports.finish();
    return 0;
  }

 private:
  // Of several answers a blank line is the end, so an empty line is none of them.
  void write(Output& out, const Translation& t) const {
    if (options.n_best == 1) return out.print(line_of(t) + "\n");
    for (const Candidate& answer : t.n_best)
      if (const std::string line = line_of(answer); !line.empty()) out.print(line + "\n");
    out.print("\n");
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

Command add_translate(CLI::App& parent) {
  CLI::App& app = *parent.add_subcommand("translate", "translate lines of text, as they come");
  const auto c = std::make_shared<TranslateCommand>();
  flag(app, "--model", c->model, "the model folder", "FOLDER")->required();
  flag(app, "--input", c->input, "a sentence a line; plain or gzip; -: standard input", "FILE");
  flag(app, "--output", c->output, "a translation a line, in the order of the input; -: standard output", "FILE");
  flag(app, "--beam", c->options.beam, "hypotheses kept at a time; 1: greedy", "N");
  flag(app, "--length-penalty", c->options.length_penalty, "exponent alpha of Wu et al., 2016; 0: none", "ALPHA");
  flag(app, "--n-best", c->options.n_best,
       "answers a sentence, a blank line behind them, empty ones left out; at most --beam", "N");
  app.add_flag("--scores", c->scores, "put the score and a tab before each answer");
  app.add_flag("--alignment", c->alignment, "put a tab and source-target links of tokens behind each answer");
  flag(app, "--max-length", c->options.max_length, "of an answer; 0: in proportion to the source", "TOKENS");
  flag(app, "--batch-tokens", c->options.batch_tokens, "searched at a time", "TOKENS");
  app.add_flag("--strict", c->strict, "end at a line that cannot be read; else it has an empty line for an answer");
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
