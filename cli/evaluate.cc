#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "cli/command.h"
#include "cli/decoding_flags.h"
#include "cli/evaluate_model.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/base/counted.h"
#include "qkv/base/json.h"
#include "qkv/base/threads.h"
#include "qkv/metric/evaluation.h"
#include "qkv/metric/evaluation_table.h"
#include "qkv/picture/evaluation_attention.h"
#include "qkv/picture/evaluation_page.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {
namespace {

using Lines = std::vector<std::string>;

// The last part of each path, if that tells them apart.
Lines names_of_systems(const Lines& paths) {
  Lines names;
  for (std::string path : paths) {
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    names.push_back(std::filesystem::path(path).filename().string());
  }
  return std::set<std::string>(names.begin(), names.end()).size() == paths.size() ? names : paths;
}

struct EvaluateCommand {
  Lines models, hypotheses, references, outputs;  // folders and files
  std::string input, page, page_system, shortlist;
  InferenceOptions held;
  TranslateOptions options;
  std::vector<Option*> flags;  // of the options
  EvaluateOptions metrics;
  bool lowercase = false, json = false, paired_bs = false, paired_ar = false, by_length = false, quiet = false;
  int64_t chrf_word_order = 0, limit = 0, resamples = 0, seed = BootstrapOptions().seed, page_attention = 20;
  int threads = 0;

  int run() {
    if (threads > 0) set_threads(threads);
    check();
    take_metric_options();
    std::vector<std::unique_ptr<Output>> files;  // opened first: a long translation is not lost to a wrong name
    for (const std::string& output : outputs) files.push_back(std::make_unique<Output>(output));
    const auto page_file = page.empty() ? nullptr : std::make_unique<Output>(page);
    const Data data = read();

    std::vector<SystemOutput> systems = data.systems;
    for (size_t i = 0; i < models.size(); ++i) {
      systems[i].lines =
          translations_to_evaluate(models[i], data.sources,
                                   {.file = data.source_file,
                                    .options = [&](const auto& defaults) { return given_over(defaults); },
                                    .held = held,
                                    .shortlist = shortlist,
                                    .quiet = quiet});
      if (files.empty()) continue;
      for (const std::string& line : systems[i].lines) files[i]->print(line + "\n");
      files[i]->close();
    }
    const Evaluation evaluation(std::move(systems), data.references, metrics);
    print(evaluation, data);
    if (page_file) write_page(*page_file, page_of(evaluation, data));
    return 0;
  }

 private:
  struct Data {
    Lines sources = {};                      // none without --input
    std::vector<Lines> references = {};      // the targets of --input, then --references
    std::vector<SystemOutput> systems = {};  // models, whose lines are still missing, then --hypotheses
    std::string source_file = {};
  };

  template <class... Args>
  static void use(bool ok, fmt::format_string<Args...> message, Args&&... args) {
    require<UsageError>(ok, "qkv evaluate", message, std::forward<Args>(args)...);
  }

  void check() const {
    use(!models.empty() || !hypotheses.empty(),
        "give --model and --input to translate and evaluate, or --hypotheses and --references");
    use(models.empty() || !input.empty(), "--model needs --input {}; --hypotheses does not need a model",
        corpus_unit);
    use(!references.empty() || !input.empty(), "--hypotheses needs --references FILE or --input {}", corpus_unit);
    use(limit >= 0, "--limit must be at least 0, got {}", limit);
    use(chrf_word_order >= 0 && chrf_word_order <= 100, "--chrf-word-order must be 0 to 100, got {}",
        chrf_word_order);
    use(!paired_bs || !paired_ar, "--paired-bs and --paired-ar exclude each other: each is a test of its own");
    use(!(paired_bs || paired_ar) || models.size() + hypotheses.size() > 1,
        "--{} compares systems with the first one: give another --model or --hypotheses",
        paired_bs ? "paired-bs" : "paired-ar");
    use(resamples >= 0, "--resamples must be at least 0, got {}", resamples);
    use(seed >= 0 && seed <= UINT32_MAX, "--seed must be 0 to {}, got {}", UINT32_MAX, seed);
    use(outputs.empty() || outputs.size() == models.size(),
        "--output needs a file for each --model, in their order: there are {} and {}", outputs.size(),
        models.size());
    check_files();
    check_options(options);
  }

  TranslateOptions given_over(const TranslateOptions& defaults) {
    set_defaults(options, defaults, flags);
    return options;
  }

  void check_files() const {
    Lines written = outputs;
    if (!page.empty()) written.push_back(page);
    use(std::find(written.begin(), written.end(), "-") == written.end(),
        "--output and --page need the name of a file: standard output has the scores");
    use(std::set<std::string>(written.begin(), written.end()).size() == written.size(),
        "--output and --page name the same file twice");
    use(page_attention >= 0, "--page-attention must be at least 0, got {}", page_attention);
    use(page_system.empty() || !page.empty(), "--page-system needs --page FILE");
    use(page_system.empty() || std::find(models.begin(), models.end(), page_system) != models.end(),
        "--page-system must be one of the models given by --model, got {}", quoted_name(page_system));
  }

  void take_metric_options() {
    metrics.bleu.lowercase = metrics.chrf.lowercase = lowercase;
    metrics.chrf.word_order = static_cast<int>(chrf_word_order);
    metrics.paired = paired_bs ? PairedTest::bootstrap : paired_ar ? PairedTest::randomization : PairedTest::none;
    metrics.bootstrap.seed = metrics.randomization.seed = static_cast<uint32_t>(seed);
    if (resamples > 0) metrics.bootstrap.samples = metrics.randomization.trials = resamples;
  }

  bool is_full(const Lines& lines) const { return limit > 0 && std::ssize(lines) >= limit; }
  Lines read_lines(const std::string& path) const {
    Lines out;
    LineReader lines(path);
    for (std::string line; !is_full(out) && lines.next(line);) out.push_back(line);
    return out;
  }

  // Everything that is given, before anything is translated.
  Data read() const {
    Data data;
    Lines paths = models;
    paths.insert(paths.end(), hypotheses.begin(), hypotheses.end());
    for (const std::string& name : names_of_systems(paths)) data.systems.push_back({name, {}});
    std::string first;  // file, to which the others are compared
    size_t count = 0;
    const auto check_count = [&](const std::string& file, size_t lines) {
      if (first.empty()) first = file, count = lines;
      require<InputError>(lines > 0, file, "no sentences to evaluate: it is empty");
      require<InputError>(lines == count, file,
                          "{}, but {} has {}: each hypothesis needs one line of every reference file",
                          counted(lines, "line"), first, count);
    };
    if (!input.empty()) {
      read_pairs(data);
      check_count(input, data.sources.size());
    }
    for (size_t i = 0; i < hypotheses.size(); ++i) {
      data.systems[models.size() + i].lines = read_lines(hypotheses[i]);
      check_count(hypotheses[i], data.systems[models.size() + i].lines.size());
    }
    for (const std::string& file : references) {
      data.references.push_back(read_lines(file));
      check_count(file, data.references.back().size());
    }
    return data;
  }

  void read_pairs(Data& data) const {
    CorpusReader pairs(input, {.every_line = true});  // blank sides are sentences, as for sacreBLEU
    Lines& targets = data.references.emplace_back();
    for (SentencePair pair; !is_full(targets) && pairs.next(pair);) {
      data.sources.push_back(pair.source);
      targets.push_back(pair.target);
    }
    require<InputError>(!targets.empty(), input, "no sentence pairs: it is empty");
    const std::string last = pairs.where();
    data.source_file = last.substr(0, last.rfind(':'));
  }

  void print(const Evaluation& evaluation, const Data& data) const {
    const std::vector<SystemResult> results = evaluation.results();
    std::vector<LengthBucket> buckets;
    const char* measured = data.sources.empty() ? "reference words" : "source words";
    if (by_length) buckets = evaluation.by_length(data.sources.empty() ? data.references[0] : data.sources);
    if (json) return print_json(results, buckets, measured);
    if (results.size() == 1) {
      const SystemResult& only = results[0];
      for (const MetricResult& metric : only.metrics) fmt::print("{}\n", metric_line(metric));
      fmt::print("exact match {:.4f} ({} of {})\n", only.exact_share(), only.exact_matches, only.sentences);
    } else {
      fmt::print("{}", results_table(results));
    }
    if (by_length) fmt::print("\n{}", length_table(buckets, measured));
  }

  void print_json(std::span<const SystemResult> results, std::span<const LengthBucket> buckets,
                  const char* measured) const {
    Json all = results_json(results);
    if (results.size() == 1) {  // the metrics of the only system
      const SystemResult& only = results[0];
      all = Json::array();
      for (const MetricResult& metric : only.metrics) all.push_back(metric_json(metric));
      all.push_back({{"name", "exact match"},
                     {"score", only.exact_share()},
                     {"matches", only.exact_matches},
                     {"sentences", only.sentences}});
    }
    if (by_length)
      all.push_back({{"name", "by length"}, {"measured", measured}, {"buckets", length_json(buckets)}});
    fmt::print("{}\n", all.dump(1));
  }

  void write_page(Output& file, const std::string& text) const {
    constexpr size_t large = 20'000'000;  // bytes: browsers become slow
    file.print(text);
    file.close();
    if (!quiet) say("page of all sentences: " + page);
    if (text.size() > large)
      say(fmt::format("{} has {} MB; --limit N makes a page of the first N sentences", page,
                      text.size() / 1'000'000));
  }

  std::string page_of(const Evaluation& evaluation, const Data& data) const {
    EvaluationPageOptions how{.title = "Translations of " + (input.empty() ? references[0] : input),
                              .sources = data.sources};
    if (!models.empty() && page_attention > 0) {
      const auto chosen =
          page_system.empty() ? models.begin() : std::find(models.begin(), models.end(), page_system);
      const auto system = static_cast<size_t>(chosen - models.begin());
      how.attention_of = data.systems[system].name;
      how.attention = attention_of_worst(open_translator("evaluate", *chosen, held), evaluation, data.sources,
                                         {.system = system, .sentences = page_attention});
    }
    return evaluation_page(evaluation, how);
  }
};

}  // namespace

Command add_evaluate(App& parent) {
  App& app = *parent.add_subcommand("evaluate", "compute BLEU, chrF, TER and exact match of translations");
  const auto c = std::make_shared<EvaluateCommand>();
  app.group("What is evaluated");
  list_flag(app, "--model", c->models,
            "model folder, made by qkv train or published, or a GGUF file; given several times, they are "
            "compared",
            "FOLDER");
  corpus_flag(app, c->input);
  list_flag(app, "--hypotheses", c->hypotheses,
            "translations to evaluate, made without --model; given several times, they are compared", "FILE");
  list_flag(app, "--references", c->references,
            "reference translations; may be given several times, and besides the targets of --input", "FILE");
  list_flag(app, "--output", c->outputs,
            "where to save the translations of --model, one per line; once for each --model", "FILE");
  flag(app, "--limit", c->limit, "number of sentences to evaluate; 0: all", "N");
  app.group("Metrics");
  choice(app, "--tokenize", c->metrics.bleu.tokenizer, "tokenization for BLEU");
  app.add_flag("--lowercase", c->lowercase, "ignore case in BLEU and chrF; TER always does");
  flag(app, "--chrf-word-order", c->chrf_word_order, "word n-grams in chrF; 2: chrF++", "N");
  app.add_flag("--confidence", c->metrics.confidence,
               "95% confidence intervals by bootstrap resampling, as sacreBLEU's");
  app.group("Comparison");
  app.add_flag("--paired-bs", c->paired_bs,
               "test by paired bootstrap resampling whether systems differ from the first one, as sacreBLEU's");
  app.add_flag("--paired-ar", c->paired_ar, "the same by paired approximate randomization");
  flag(app, "--resamples", c->resamples, "number of resamples, or trials of --paired-ar; 0: 1000, and 10000 trials",
       "N");
  flag(app, "--seed", c->seed, "seed of the resamples, as SACREBLEU_SEED", "N");
  app.add_flag("--by-length", c->by_length,
               "print the scores by the number of words of the source; of the first reference without --input");
  app.group("Page");
  flag(app, "--page", c->page,
       "write an HTML page of all sentences, the worst first, with what differs from the reference marked", "FILE");
  flag(app, "--page-attention", c->page_attention,
       "on the page: the cross-attention of the N worst sentences of a model, at most 4 MB; 0: none", "N");
  flag(app, "--page-system", c->page_system, "the model of --page-attention; default: the first --model", "FOLDER");
  app.group("Output");
  app.add_flag("--json", c->json, "print JSON");
  c->flags = decoding_flags(app, c->options, {.headings = {"Search", "Input and output", "General"}});
  quiet_flag(app, c->quiet);
  flag(app, "--shortlist", c->shortlist, "of each --model, as in qkv translate", "FILE")->group("Search");
  weight_flags(app, c->held);
  cache_flag(app, c->held);
  threads_flag(app, c->threads);
  app.footer(
      "Examples:\n"
      "  qkv evaluate -m my-model -i held-out.tsv\n"
      "  qkv evaluate --hypotheses translations.txt --references references.txt --confidence");
  return {&app, [c] { return c->run(); }};
}

}  // namespace qkv::cli
