#include "cli/ablation.h"

#include <algorithm>

#include "cli/line_job.h"
#include "cli/model_folder.h"
#include "cli/output.h"
#include "qkv/base/counted.h"
#include "qkv/base/json.h"
#include "qkv/interpret/ablation.h"
#include "qkv/text/corpus.h"

namespace qkv::cli {
namespace {

Json json_of(const AblatedHeads& one) {
  Json json = {{"without", one.name}, {"loss", one.loss}, {"perplexity", one.perplexity()}};
  if (one.bleu) json["bleu"] = *one.bleu;
  return json;
}

Json json_of(const Ablation& ablation) {
  Json rows = Json::array();
  for (const AblatedHeads& one : ablation.ablated) rows.push_back(json_of(one));
  return {{"texts", ablation.texts},
          {"tokens", ablation.tokens},
          {"whole", json_of(ablation.whole)},
          {"ablated", std::move(rows)}};
}

Ablation of_translator(const AblationJob& job, const AblationProgress& progress) {
  std::vector<std::string> sources, references;
  CorpusReader pairs(job.input, {.every_line = true});
  for (SentencePair pair; (job.limit == 0 || std::ssize(sources) < job.limit) && pairs.next(pair);) {
    sources.push_back(pair.source);
    references.push_back(pair.target);
  }
  require<InputError>(!sources.empty(), job.input, "no sentence pairs: it is empty");
  const Translator translator = open_translator("inspect", job.model, job.held);
  TranslateOptions translate = translator.defaults();
  if (job.beam) translate.search.beam = *job.beam;
  return ablate(translator, sources, references, job.groups, {.translate = translate, .bleu = !job.loss_only},
                progress);
}

std::vector<std::string> texts_of(const AblationJob& job, const char* kind) {
  require<UsageError>(!job.beam && !job.loss_only, "qkv inspect",
                      "--beam and --loss-only are for models that translate; this one is {}", kind);
  std::vector<std::string> texts;
  LineReader lines(job.input);
  for (std::string line; (job.limit == 0 || std::ssize(texts) < job.limit) && lines.next(line);)
    texts.push_back(line);
  require<InputError>(!texts.empty(), job.input, "no texts: it is empty");
  return texts;
}

Ablation of_generator(const AblationJob& job, const AblationProgress& progress) {
  const std::vector<std::string> texts = texts_of(job, "causal");
  return ablate(open_generator("inspect", job.model, job.held), texts, job.groups, {}, progress);
}

Ablation of_mask_filler(const AblationJob& job, const AblationProgress& progress) {
  const std::vector<std::string> texts = texts_of(job, "masked");
  return ablate(open_mask_filler("inspect", job.model, job.held), texts, job.groups, {}, progress);
}

}  // namespace

int print_ablation(const AblationJob& job, Architecture architecture) {
  Progress progress({.quiet = job.quiet || !Progress::stderr_is_terminal(), .terminal = true});
  const auto start = std::chrono::steady_clock::now();
  const auto show = [&](int64_t done) {
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    if (progress.due()) progress.show(line_progress(done, 1 + std::ssize(job.groups), elapsed.count()));
  };
  const bool translates = !is_language_model(architecture);
  Ablation found = translates                             ? of_translator(job, show)
                   : architecture == Architecture::causal ? of_generator(job, show)
                                                          : of_mask_filler(job, show);
  progress.clear();
  if (job.sorted) found = found.sorted();
  fmt::print("{}", job.json ? json_of(found).dump(1) + "\n" : ablation_table(found));
  if (!job.quiet)
    say(fmt::format("{}, {}; loss per token in nats", counted(found.texts, translates ? "sentence pair" : "text"),
                    counted(found.tokens, "token")));
  return 0;
}

std::vector<NamedHeads> heads_of_flag(const std::vector<std::string>& given, const ModelConfig& config) {
  std::vector<NamedHeads> groups;
  for (const std::string& text : given)
    for (NamedHeads& group : heads_named(text, config, "qkv inspect: --ablate")) groups.push_back(std::move(group));
  return groups;
}

}  // namespace qkv::cli
