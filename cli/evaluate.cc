#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "qkv/base/threads.h"
#include "qkv/decode/translator.h"
#include "qkv/metric/bleu.h"
#include "qkv/metric/chrf.h"
#include "qkv/metric/ter.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {
namespace {

struct EvaluateCommand {
  std::string model, input, hypotheses, references;
  TranslateOptions options;
  int64_t limit = 0;
  int threads = 0;

  int run() const {
    if (threads > 0) set_threads(threads);
    const bool translates = !model.empty() || !input.empty(), compares = !hypotheses.empty() || !references.empty();
    require<UsageError>(
        translates != compares &&
            (translates ? !model.empty() && !input.empty() : !hypotheses.empty() && !references.empty()),
        "qkv evaluate",
        "give --model and --input to translate and judge, or --hypotheses and --references to compare");
    check_options(options);
    std::vector<std::string> given, wanted;
    if (compares) {
      given = read_lines(hypotheses);
      wanted = read_lines(references);
      require<InputError>(given.size() == wanted.size() && !given.empty(), hypotheses,
                          "{} lines, but {} has {}: they must be as many, and at least one", given.size(),
                          references, wanted.size());
    } else {
      const Translator translator{std::filesystem::path(model)};
      std::vector<std::string> sources;
      CorpusReader pairs(input, {.every_line = true});  // as sacreBLEU counts: blank sides are sentences
      for (SentencePair pair; (limit == 0 || static_cast<int64_t>(sources.size()) < limit) && pairs.next(pair);) {
        sources.push_back(pair.source);
        wanted.push_back(pair.target);
      }
      require<InputError>(!sources.empty(), input, "no sentence pairs: it is empty");
      for (const Translation& t : translator.translate(sources, options)) given.push_back(t.text);
    }
    int64_t exact = 0;
    for (size_t i = 0; i < given.size(); ++i) exact += given[i] == wanted[i];
    fmt::print("{}\n{}\n{}\nexact match {:.4f} ({} of {})\n", bleu(given, wanted).to_string(),
               chrf(given, wanted).to_string(), ter(given, wanted).to_string(),
               static_cast<double>(exact) / static_cast<double>(given.size()), exact, given.size());
    return 0;
  }

 private:
  static std::vector<std::string> read_lines(const std::string& path) {
    std::vector<std::string> out;
    LineReader lines(path);
    for (std::string line; lines.next(line);) out.push_back(line);
    return out;
  }
};

}  // namespace

Command add_evaluate(CLI::App& parent) {
  CLI::App& app =
      *parent.add_subcommand("evaluate", "translate sentence pairs and judge: BLEU, chrF, TER, exact match");
  const auto c = std::make_shared<EvaluateCommand>();
  flag(app, "--model", c->model, "the model folder", "FOLDER");
  flag(app, "--input", c->input, "sentence pairs: a TSV file (source TAB target), or two files a,b; plain or gzip",
       "FILE");
  flag(app, "--hypotheses", c->hypotheses, "or compare translations that are there already", "FILE");
  flag(app, "--references", c->references, "with these", "FILE");
  flag(app, "--limit", c->limit, "judge the first so many; 0: all", "PAIRS");
  flag(app, "--beam", c->options.beam, "hypotheses kept at a time; 1: greedy", "N");
  flag(app, "--length-penalty", c->options.length_penalty, "exponent alpha of Wu et al., 2016; 0: none", "ALPHA");
  flag(app, "--max-length", c->options.max_length, "of an answer; 0: in proportion to the source", "TOKENS");
  flag(app, "--batch-tokens", c->options.batch_tokens, "searched at a time", "TOKENS");
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
