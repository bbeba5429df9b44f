#include <cmath>
#include <memory>

#include "cli/answer_lines.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "qkv/base/threads.h"
#include "qkv/decode/translator.h"
#include "qkv/text/corpus.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct ScoreCommand {
  std::string model, input, output = "-";
  int64_t batch_tokens = 4096;
  bool tokens = false, strict = false;
  int threads = 0;

  int run() const {
    if (threads > 0) set_threads(threads);
    check_batch_tokens(batch_tokens);
    const Translator translator{std::filesystem::path(model)};
    CorpusReader pairs(input, {.every_line = true});
    Output out(output);
    LineReports reports;
    Sum sum;
    const auto answer = [&](const std::vector<ReadLine<SentencePair>>& read) {
      std::vector<std::string> sources, targets;
      for (const ReadLine<SentencePair>& line : read) {
        if (line.bad) continue;
        sources.push_back(line.item.source);
        targets.push_back(line.item.target);
      }
      const std::vector<PairScore> scores = translator.score(sources, targets, batch_tokens);
      auto next = scores.begin();
      for (const ReadLine<SentencePair>& line : read) {
        if (line.bad) {
          out.print("\n");
          continue;
        }
        if (next->truncated)
          reports.add("were too long", fmt::format("{}: longer than the model's {} tokens; its end was left out",
                                                   line.where, translator.model().config().position_limit()));
        out.print(line_of(*next) + "\n");
        sum.add(*next++);
      }
      out.flush();
    };
    answer_lines<SentencePair>(pairs, reports, {.strict = strict}, answer);
    out.close();
    reports.finish();
    say(sum.to_string());
    return 0;
  }

 private:
  struct Sum {
    double log_probability = 0;
    int64_t pairs = 0, tokens = 0;

    void add(const PairScore& score) {
      log_probability += score.log_probability;
      tokens += static_cast<int64_t>(score.token_log_probabilities.size());
      ++pairs;
    }
    std::string to_string() const {
      if (tokens == 0) return fmt::format("{} pairs", pairs);
      const double mean = log_probability / static_cast<double>(tokens);
      return fmt::format("{} pairs, {} tokens, {:.4f} a token, perplexity {:.3f}", pairs, tokens, mean,
                         std::exp(-mean));
    }
  };

  std::string line_of(const PairScore& score) const {
    std::string line = fmt::format("{:.4f}", score.log_probability);
    for (size_t i = 0; tokens && i < score.token_log_probabilities.size(); ++i)
      line += fmt::format("\t{} {:.4f}", escape_controls(score.tokens[i]), score.token_log_probabilities[i]);
    return line;
  }
};

}  // namespace

Command add_score(CLI::App& parent) {
  CLI::App& app = *parent.add_subcommand("score", "print the log-probability of given translations");
  const auto c = std::make_shared<ScoreCommand>();
  flag(app, "--model", c->model, "the model folder", "FOLDER")->required();
  flag(app, "--input", c->input, "sentence pairs: a TSV file (source TAB target), or two files a,b; plain or gzip",
       "FILE")
      ->required();
  flag(app, "--output", c->output, "a line a pair: the natural logarithm of p(target | source); -: standard output",
       "FILE");
  app.add_flag("--tokens", c->tokens, "put each piece of the target and its log-probability behind");
  flag(app, "--batch-tokens", c->batch_tokens, "computed at a time", "TOKENS");
  app.add_flag("--strict", c->strict, "end at a line that cannot be read; else it has an empty line for an answer");
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
