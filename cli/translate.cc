#include <cstdio>
#include <memory>
#include <poll.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/base/threads.h"
#include "qkv/decode/translator.h"
#include "qkv/text/lines.h"

namespace qkv::cli {
namespace {

struct TranslateCommand {
  std::string model, input = "-", output = "-";
  TranslateOptions options;
  bool scores = false, alignment = false;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    options.alignment = alignment;
    search_options(options);  // wrong numbers are told before anything is read
    const Translator translator{std::filesystem::path(model)};
    Output out(output);
    LineReader lines(input);
    std::vector<std::string> batch;
    int64_t first = 1, truncated = 0;
    const auto flush = [&] {
      const std::vector<Translation> translations = translator.translate(batch, options);
      for (size_t i = 0; i < batch.size(); ++i) {
        write(out, translations[i]);
        if (translations[i].truncated && ++truncated <= 10)
          fmt::print(stderr, "{}:{}: longer than the model's {} tokens; its end was left out\n", lines.name(),
                     first + static_cast<int64_t>(i), translator.model().config().max_length);
      }
      out.flush();
      first += static_cast<int64_t>(batch.size());
      batch.clear();
    };
    // Lines are taken as they come: a full batch, or what is there when no more waits to be read.
    constexpr size_t most = 2048;
    for (std::string line; lines.next(line);) {
      batch.push_back(line);
      if (batch.size() >= most || (input == "-" && !more_waits(lines))) flush();
    }
    if (!batch.empty()) flush();
    out.close();
    if (truncated > 10) fmt::print(stderr, "{} lines in all were too long\n", truncated);
    return 0;
  }

 private:
  static bool more_waits(const LineReader& lines) {
    if (lines.has_line()) return true;
    pollfd standard_input = {.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    return poll(&standard_input, 1, 0) > 0;
  }

  void write(Output& out, const Translation& t) const {
    if (options.n_best == 1) return write_answer(out, t);
    for (const Answer& answer : t.n_best) write_answer(out, answer);
    out.print("\n");  // a blank line ends the answers of a sentence
  }

  void write_answer(Output& out, const Answer& answer) const {
    if (scores) out.print(fmt::format("{:.4f}\t", answer.score));
    out.print(answer.text);
    if (alignment) out.print("\t" + links(answer));
    out.print("\n");
  }

  // "0-0 1-2": target piece i looked most at source piece j, as i-j in the order source-target of other tools.
  static std::string links(const Answer& answer) {
    std::string text;
    const int64_t T = answer.alignment.defined() ? answer.alignment.dim(0) : 0;
    for (int64_t i = 0; i < T; ++i) {
      int64_t best = 0;
      for (int64_t j = 1; j < answer.alignment.dim(1); ++j)
        if (answer.alignment.at<float>({i, j}) > answer.alignment.at<float>({i, best})) best = j;
      text += fmt::format("{}{}-{}", i ? " " : "", best, i);
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
  flag(app, "--output", c->output, "translations, in the order of the input; -: standard output", "FILE");
  flag(app, "--beam", c->options.beam, "hypotheses kept at a time; 1: greedy", "N");
  flag(app, "--length-penalty", c->options.length_penalty, "exponent alpha of Wu et al., 2016; 0: none", "ALPHA");
  flag(app, "--n-best", c->options.n_best, "answers a sentence, a blank line behind them; at most --beam", "N");
  app.add_flag("--scores", c->scores, "put the score and a tab before each answer");
  app.add_flag("--alignment", c->alignment, "put a tab and source-target links of pieces behind each answer");
  flag(app, "--max-length", c->options.max_length, "of an answer; 0: in proportion to the source", "TOKENS");
  flag(app, "--batch-tokens", c->options.batch_tokens, "searched at a time", "TOKENS");
  flag(app, "--threads", c->threads, "0: one for every core", "N");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
