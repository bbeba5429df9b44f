#include "qkv/metric/perplexity.h"

#include <cmath>
#include <memory>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/distinct_lines.h"
#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/shards.h"
#include "cli/text_input.h"
#include "cli/timings.h"
#include "qkv/base/counted.h"
#include "qkv/base/threads.h"
#include "qkv/pipeline/generator.h"
#include "qkv/text/utf8.h"

namespace qkv::cli {
namespace {

struct PerplexityCommand {
  std::string model, input = "-", output = "-";
  InferenceOptions held;
  ScoreTextOptions options;
  bool tokens = false, total = false, strict = false, quiet = false, show_timings = false;
  int threads = 0;
  Shards shards;

  int run() const {
    if (threads > 0) set_threads(threads);
    visit_options(options, CheckRanges{"perplexity"});  // before anything is read
    require<UsageError>(!total || !shards.given(), "qkv perplexity",
                        "--total is one line about all lines; leave it out with --shards");
    const std::unique_ptr<ResumableFile> shard =
        shards.open_output({.command = "perplexity", .model = model, .input = input, .output = output});
    if (shard && shard->complete()) return shards.report_complete(output, quiet);
    const bool resumed = shard && shard->lines() > 0;
    Timings timings;
    const Generator generator = open_generator("perplexity", model, held);
    timings.model_read();
    LineReader lines = shard
                           ? shards.open_lines(input, *shard)
                           : open_lines({.command = "perplexity", .input = input, .what = "texts", .quiet = quiet});
    LineJob job({.command = "perplexity",
                 .input = input,
                 .output = output,
                 .strict = strict,
                 .quiet = quiet,
                 .resumable = shard.get(),
                 .json_progress = shards.json_progress()});
    LanguageModelScore sum;
    int64_t texts = 0;
    const auto answer = [&](const std::vector<ReadLine<std::string>>& read) {
      const DistinctLines<std::string> distinct(read);
      const std::vector<TextScore> scores = distinct.compute([&] {
        return timings.measure(
            [&] { return generator.score(distinct.items(), options, [&](int64_t done) { job.show(done); }); });
      });
      for (const TextScore& score : scores) timings.add(std::ssize(score.tokens), 0);
      size_t good = 0;
      for (const ReadLine<std::string>& line : read) {
        const TextScore score = line.bad ? TextScore() : scores[distinct.index(good++)];
        sum.add(-score.log_probability, std::ssize(score.tokens));
        texts += score.tokens.empty() ? 0 : 1;
        if (!total) job.print(line_of(score) + "\n");
      }
    };
    const int code = job.run([&] {
      job.answer<std::string>(lines, answer);
      if (total) job.print(fmt::format("{:.4f}\t{:.4f}\t{}\n", sum.perplexity(), sum.cross_entropy(), sum.tokens));
    });
    if (code == 0 && !resumed)
      job.say(fmt::format("{}, {}, log-probability per token {:.4f}, perplexity {:.3f}", counted(texts, "line"),
                          counted(sum.tokens, "token"), -sum.cross_entropy(), sum.perplexity()));
    if (show_timings) timings.print();
    return code;
  }

 private:
  std::string line_of(const TextScore& score) const {
    if (score.tokens.empty()) return "";
    std::string line =
        fmt::format("{:.4f}\t{:.4f}\t{}", score.perplexity(), score.log_probability, score.tokens.size());
    for (size_t i = 0; tokens && i < score.tokens.size(); ++i)
      line += fmt::format("\t{} {:.4f}", escape_controls(score.tokens[i]), score.token_log_probabilities[i]);
    return line;
  }
};

}  // namespace

Command add_perplexity(App& parent) {
  App& app = *parent.add_subcommand("perplexity", "print how well a causal model predicts every line of a text");
  const auto c = std::make_shared<PerplexityCommand>();
  model_flag(app, c->model)->required();
  app.group("Input and output");
  flag(app, "--input", c->input, "text, one document per line; plain, gzip or zstd; -: standard input", "FILE");
  flag(app, "--output", c->output,
       "PERPLEXITY TAB LOG-PROBABILITY TAB TOKENS of each line, whose end counts as a token; -: standard output",
       "FILE");
  app.add_flag("--tokens", c->tokens, "print each token and its log-probability after a tab");
  app.add_flag("--total", c->total, "print only PERPLEXITY TAB CROSS-ENTROPY PER TOKEN TAB TOKENS of all lines");
  decoding_flags(app, c->options);
  c->shards.add_flags(app);
  strict_flag(app, c->strict);
  quiet_flag(app, c->quiet);
  timings_flag(app, c->show_timings);
  weight_flags(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "A blank line has no tokens, and its output is a blank line.\n"
      "Perplexity is exp(-log-probability / tokens).\n\n"
      "Examples:\n"
      "  qkv perplexity -m stories -i held-out.txt --total\n"
      "  echo \"It rains.\" | qkv perplexity -m stories --tokens");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
