#include <memory>

#include "cli/command.h"
#include "cli/flags.h"
#include "cli/line_job.h"
#include "cli/model_defaults.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "cli/search_flags.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/decode/generation_config.h"
#include "qkv/metric/bleu.h"
#include "qkv/metric/bootstrap.h"
#include "qkv/metric/chrf.h"
#include "qkv/metric/ter.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {
namespace {

using Lines = std::vector<std::string>;

// One metric as sacreBLEU prints it: NAME|SIGNATURE = SCORE (mean +- half of the 95% interval) DETAILS.
struct MetricLine {
  std::string name, signature, details = {};
  double score = 0;
  std::optional<Confidence> confidence = {};

  std::string to_string() const {
    std::string text = fmt::format("{}|{} = {:.2f}", name, full_signature(), score);
    if (confidence)
      text += fmt::format(" (\u03bc = {:.2f} \u00b1 {:.2f})", confidence->mean, confidence->half_width);
    return details.empty() ? text : text + " " + details;
  }
  Json to_json() const {
    Json json = {{"name", name}, {"score", score}, {"signature", full_signature()}};
    if (confidence) json["confidence_mean"] = confidence->mean, json["confidence_var"] = confidence->half_width;
    if (!details.empty()) json["verbose_score"] = details;
    return json;
  }
  std::string full_signature() const {  // bootstrap options come after the number of references
    if (!confidence) return signature;
    const size_t at = signature.find('|');
    const BootstrapOptions o;
    return fmt::format("{}|bs:{}|seed:{}{}", signature.substr(0, at), o.samples, o.seed, signature.substr(at));
  }
};

struct EvaluateCommand {
  std::string model, input, hypotheses;
  InferenceOptions held;
  Lines references;  // files
  TranslateOptions options;
  ModelDefaults<TranslateOptions> defaults;
  BleuOptions bleu_options;
  ChrfOptions chrf_options;
  bool lowercase = false, json = false, confidence = false, quiet = false;
  int64_t chrf_word_order = 0, limit = 0;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    const bool translates = !model.empty() || !input.empty(), compares = !hypotheses.empty();
    require<UsageError>(translates != compares, "qkv evaluate",
                        "give --model and --input to translate and evaluate, or --hypotheses and --references");
    require<UsageError>(!translates || !model.empty(), "qkv evaluate", "--input needs --model FOLDER");
    require<UsageError>(!translates || !input.empty(), "qkv evaluate", "--model needs --input {}", corpus_unit);
    require<UsageError>(!compares || !references.empty(), "qkv evaluate", "--hypotheses needs --references FILE");
    require<UsageError>(limit >= 0, "qkv evaluate", "--limit must be at least 0, got {}", limit);
    require<UsageError>(chrf_word_order >= 0 && chrf_word_order <= 100, "qkv evaluate",
                        "--chrf-word-order must be 0 to 100, got {}", chrf_word_order);
    check_options(options);
    bleu_options.lowercase = chrf_options.lowercase = lowercase;
    chrf_options.word_order = static_cast<int>(chrf_word_order);

    std::vector<Lines> streams;
    const Lines given = compares ? read_lines(hypotheses) : translations(streams.emplace_back());
    for (const std::string& path : references) streams.push_back(read_lines(path));
    const std::string& name = compares ? hypotheses : input;
    require<InputError>(!given.empty(), name, "no sentences to evaluate: it is empty");
    for (size_t i = 0; i < references.size(); ++i)
      require<InputError>(streams[i + streams.size() - references.size()].size() == given.size(), references[i],
                          "{} lines, but {} has {}: each hypothesis needs one line of every reference file",
                          streams[i + streams.size() - references.size()].size(), name, given.size());
    print(given, streams);
    return 0;
  }

 private:
  Lines read_lines(const std::string& path) const {
    Lines out;
    LineReader lines(path);
    for (std::string line; !is_full(out) && lines.next(line);) out.push_back(line);
    return out;
  }
  bool is_full(const Lines& lines) const { return limit > 0 && static_cast<int64_t>(lines.size()) >= limit; }

  // The translations of the sources of --input; its targets become `targets`.
  Lines translations(Lines& targets) const {
    const Translator translator = open_translator("evaluate", model, held);
    TranslateOptions how = options;
    defaults.take(how, translator.defaults());
    check_options(how);
    if (!quiet)
      for (const std::string& ignored : ignored_by_translate(model)) say(ignored);
    Lines sources, out;
    CorpusReader pairs(input, {.every_line = true});  // blank sides are sentences, as for sacreBLEU
    for (SentencePair pair; !is_full(sources) && pairs.next(pair);) {
      sources.push_back(pair.source);
      targets.push_back(pair.target);
    }
    require<InputError>(!sources.empty(), input, "no sentence pairs: it is empty");
    const std::string last = pairs.where(), file = last.substr(0, last.rfind(':'));
    const TransformerConfig& config = translator.model().config();
    const std::string longer = too_long(config, input_limit(config, options.max_input_tokens));
    LineReports reports;
    Progress progress({.quiet = quiet || !Progress::stderr_is_terminal(), .terminal = true});
    const auto start = std::chrono::steady_clock::now();
    const auto show = [&](int64_t done) {
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      if (progress.due()) progress.show(line_progress(done, static_cast<int64_t>(sources.size()), elapsed.count()));
    };
    try {
      const std::vector<Translation> translations = translator.translate(sources, how, show);
      progress.clear();
      for (const Translation& t : translations) {
        out.push_back(t.text);
        if (t.truncated)
          reports.add("were too long",
                      fmt::format("{}:{}: {}; the rest was not translated", file, out.size(), longer));
      }
    } catch (const RefusedTexts& e) {
      fail<InputError>(fmt::format("{}:{}", file, e.texts()[0].index + 1), "{}", e.texts()[0].reason);
    }
    reports.finish();
    return out;
  }

  template <class Score>
  std::optional<Confidence> interval(const metric::Statistics& statistics, Score score) const {
    if (!confidence) return {};
    return bootstrap(statistics, score);
  }

  std::vector<MetricLine> metrics(const Lines& given, const std::vector<Lines>& streams) const {
    const auto count = static_cast<int>(streams.size());
    const metric::Statistics b = bleu_statistics(given, streams, bleu_options),
                             c = chrf_statistics(given, streams, chrf_options), t = ter_statistics(given, streams);
    const BleuScore bleu = bleu_of(metric::sum(b), bleu_options);
    const ChrfScore chrf = chrf_of(metric::sum(c), chrf_options);
    return {{.name = "BLEU",
             .signature = signature(bleu_options, count),
             .details = bleu.details(),
             .score = bleu.score,
             .confidence = interval(b, [&](auto sums) { return bleu_of(sums, bleu_options).score; })},
            {.name = chrf.name(),
             .signature = signature(chrf_options, count),
             .score = chrf.score,
             .confidence = interval(c, [&](auto sums) { return chrf_of(sums, chrf_options).score; })},
            {.name = "TER",
             .signature = signature(TerOptions(), count),
             .score = ter_of(metric::sum(t)).score,
             .confidence = interval(t, [](auto sums) { return ter_of(sums).score; })}};
  }

  void print(const Lines& given, const std::vector<Lines>& streams) const {
    int64_t exact = 0;
    for (size_t i = 0; i < given.size(); ++i)
      exact +=
          std::any_of(streams.begin(), streams.end(), [&](const Lines& lines) { return lines[i] == given[i]; });
    const double fraction = static_cast<double>(exact) / static_cast<double>(given.size());
    Json all = Json::array();
    for (const MetricLine& line : metrics(given, streams)) {
      if (json) {
        all.push_back(line.to_json());
      } else {
        fmt::print("{}\n", line.to_string());
      }
    }
    if (json) {
      all.push_back(
          {{"name", "exact match"}, {"score", fraction}, {"matches", exact}, {"sentences", given.size()}});
      fmt::print("{}\n", all.dump(1));
    } else {
      fmt::print("exact match {:.4f} ({} of {})\n", fraction, exact, given.size());
    }
  }
};

}  // namespace

Command add_evaluate(App& parent) {
  App& app = *parent.add_subcommand("evaluate", "compute BLEU, chrF, TER and exact match of translations");
  const auto c = std::make_shared<EvaluateCommand>();
  model_flag(app, c->model);
  weights_flag(app, c->held);
  corpus_flag(app, c->input);
  flag(app, "--hypotheses", c->hypotheses, "translations to evaluate, made without --model", "FILE");
  list_flag(app, "--references", c->references, "reference translations; may be given several times", "FILE");
  flag(app, "--limit", c->limit, "number of sentences to evaluate; 0: all", "N");
  choice(app, "--tokenize", c->bleu_options.tokenizer, "tokenization for BLEU");
  app.add_flag("--lowercase", c->lowercase, "ignore case in BLEU and chrF; TER always does");
  flag(app, "--chrf-word-order", c->chrf_word_order, "word n-grams in chrF; 2: chrF++", "N");
  app.add_flag("--confidence", c->confidence, "95% confidence intervals by bootstrap resampling, as sacreBLEU's");
  app.add_flag("--json", c->json, "print JSON");
  add_search_flags(app, c->options, c->defaults);
  c->defaults.without_flag(&TranslateOptions::min_length);
  c->defaults.without_flag(&TranslateOptions::no_repeat_ngram);
  quiet_flag(app, c->quiet);
  threads_flag(app, c->threads);
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
