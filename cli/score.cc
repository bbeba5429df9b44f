#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/distinct_lines.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/shards.h"
#include "qkv/base/counted.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/translator.h"
#include "qkv/text/corpus.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct ScoreCommand {
  std::string model, input, output = "-";
  InferenceOptions held;
  ScorePairsOptions options;
  bool tokens = false, strict = false, quiet = false;
  int threads = 0;
  Shards shards;

  int run() const {
    if (threads > 0) set_threads(threads);
    visit_options(options, CheckRanges{"score"});
    const std::unique_ptr<ResumableFile> shard =
        shards.open_output({.command = "score", .model = model, .input = input, .output = output});
    if (shard && shard->complete()) return shards.report_complete(output, quiet);
    const Translator translator = open_translator("score", model, held);
    const ModelConfig& config = translator.model().config();
    const std::string longer = too_long(config, input_limit(config, options.max_input_tokens));
    const bool resumed = shard && shard->lines() > 0;
    CorpusReader pairs =
        shard ? shards.open_pairs(input, *shard) : CorpusReader(input, CorpusOptions{.every_line = true});
    LineJob job({.command = "score",
                 .input = input,
                 .output = output,
                 .strict = strict,
                 .quiet = quiet,
                 .resumable = shard.get(),
                 .json_progress = shards.json_progress()});
    Sum sum;
    const auto answer = [&](const std::vector<ReadLine<SentencePair>>& read) {
      std::vector<std::string> sources, targets;
      const DistinctLines<SentencePair> distinct(read);
      for (const SentencePair& pair : distinct.items()) {
        sources.push_back(pair.source);
        targets.push_back(pair.target);
      }
      const std::vector<PairScore> scores = distinct.compute(
          [&] { return translator.score(sources, targets, options, [&](int64_t done) { job.show(done); }); });
      size_t good = 0;
      for (const ReadLine<SentencePair>& line : read) {
        if (line.bad) {
          job.print("\n");
          continue;
        }
        const PairScore& score = scores[distinct.index(good++)];
        if (score.truncated)
          job.report("were too long", fmt::format("{}: {}; the rest was not scored", line.where, longer));
        job.print(line_of(score) + "\n");
        sum.add(score);
      }
    };
    const int code = job.run([&] { job.answer<SentencePair>(pairs, answer); });
    if (code == 0 && !resumed) job.say(sum.to_string());
    return code;
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
      if (tokens == 0) return fmt::format("{}", counted(pairs, "pair"));
      const double mean = log_probability / static_cast<double>(tokens);
      return fmt::format("{}, {}, log-probability per token {:.4f}, perplexity {:.3f}", counted(pairs, "pair"),
                         counted(tokens, "token"), mean, std::exp(-mean));
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

Command add_score(App& parent) {
  App& app = *parent.add_subcommand("score", "print the log-probability of given translations");
  const auto c = std::make_shared<ScoreCommand>();
  model_flag(app, c->model)->required();
  corpus_flag(app, c->input)->required();
  app.group("Input and output");
  flag(app, "--output", c->output, "natural logarithms of p(target | source), one per line; -: standard output",
       "FILE");
  app.add_flag("--tokens", c->tokens, "print each target token and its log-probability after a tab");
  decoding_flags(app, c->options);
  c->shards.add_flags(app);
  strict_flag(app, c->strict);
  quiet_flag(app, c->quiet);
  weight_flags(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv score -m my-model -i pairs.tsv\n"
      "  qkv score -m my-model -i sentences.en,sentences.de -o scores.txt --tokens");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
