#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/output.h"
#include "qkv/base/threads.h"
#include "qkv/decode/translator.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {
namespace {

struct ScoreCommand {
  std::string model, input, output = "-";
  int64_t batch_tokens = 4096;
  bool tokens = false;
  int threads = 0;

  int run() const {
    if (threads > 0) set_threads(threads);
    const Translator translator{std::filesystem::path(model)};
    CorpusReader pairs(input);
    Output out(output);
    std::vector<std::string> sources, targets;
    double total = 0;
    int64_t count = 0;
    const auto flush = [&] {
      for (const PairScore& score : translator.score(sources, targets, batch_tokens)) {
        out.print(fmt::format("{:.4f}", score.log_probability));
        if (tokens)
          for (size_t i = 0; i < score.tokens.size(); ++i)
            out.print(fmt::format("\t{} {:.4f}", score.pieces[i], score.tokens[i]));
        out.print("\n");
        total += score.log_probability;
        count += static_cast<int64_t>(score.tokens.size());
      }
      sources.clear();
      targets.clear();
    };
    for (SentencePair pair; pairs.next(pair);) {
      sources.push_back(pair.source);
      targets.push_back(pair.target);
      if (sources.size() >= 2048) flush();
    }
    flush();
    out.close();
    fmt::print(stderr, "{} pairs, {} tokens, {:.4f} a token, perplexity {:.3f}\n", pairs.pairs(), count,
               total / static_cast<double>(count), std::exp(-total / static_cast<double>(count)));
    return 0;
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
  flag(app, "--threads", c->threads, "0: one for every core", "N");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
