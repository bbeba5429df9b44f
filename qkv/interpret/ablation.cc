#include "qkv/interpret/ablation.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "qkv/base/error.h"
#include "qkv/metric/bleu.h"
#include "qkv/metric/perplexity.h"
#include "qkv/model/describe_tables.h"

namespace qkv {
namespace {

// Measures the whole model and then the model without each of the groups.
template <class Measure>
void measure_each(Ablation& out, std::span<const NamedHeads> groups, const Measure& measure,
                  const AblationProgress& progress) {
  int64_t done = 0;
  const auto without = [&](const NamedHeads& group) {
    const HeadAblation scope(group.heads);
    AblatedHeads effect = measure();
    effect.name = group.name;
    if (progress) progress(++done);
    return effect;
  };
  out.whole = without({"none", {}});
  for (const NamedHeads& group : groups) out.ablated.push_back(without(group));
}

template <class Score>
LanguageModelScore sum_of(const std::vector<Score>& scores) {
  LanguageModelScore sum;
  for (const Score& score : scores) sum.add(-score.log_probability, std::ssize(score.token_log_probabilities));
  return sum;
}

template <class Product, class Options>
Ablation ablate_texts(const Product& product, std::span<const std::string> texts,
                      std::span<const NamedHeads> groups, const Options& score, const AblationProgress& progress) {
  require<InputError>(!texts.empty(), "ablate", "there are no texts");
  Ablation out{.texts = std::ssize(texts)};
  const auto measure = [&] {
    const LanguageModelScore sum = sum_of(product.score(texts, score));
    out.tokens = sum.tokens;
    return AblatedHeads{.loss = sum.cross_entropy()};
  };
  measure_each(out, groups, measure, progress);
  return out;
}

std::string change(double from, double to, int digits) { return fmt::format("{:+.{}f}", to - from, digits); }

}  // namespace

double AblatedHeads::perplexity() const { return std::exp(loss); }

Ablation Ablation::sorted() const {
  Ablation out = *this;
  std::stable_sort(out.ablated.begin(), out.ablated.end(),
                   [](const AblatedHeads& a, const AblatedHeads& b) { return a.loss > b.loss; });
  return out;
}

Ablation ablate(const Translator& translator, std::span<const std::string> sources,
                std::span<const std::string> references, std::span<const NamedHeads> groups,
                const AblateOptions& options, const AblationProgress& progress) {
  require<InputError>(!sources.empty() && sources.size() == references.size(), "ablate",
                      "there are {} sources and {} references: each source needs one", sources.size(),
                      references.size());
  const TranslateOptions translate = options.translate.value_or(translator.defaults());
  check_options(translate);
  Ablation out{.texts = std::ssize(sources)};
  const auto measure = [&] {
    const LanguageModelScore sum = sum_of(translator.score(sources, references, options.score));
    out.tokens = sum.tokens;
    AblatedHeads effect{.loss = sum.cross_entropy()};
    if (!options.bleu) return effect;
    std::vector<std::string> lines;
    for (const Translation& t : translator.translate(sources, translate)) lines.push_back(t.text);
    effect.bleu = bleu(lines, references).score;
    return effect;
  };
  measure_each(out, groups, measure, progress);
  return out;
}

Ablation ablate(const Generator& generator, std::span<const std::string> texts, std::span<const NamedHeads> groups,
                const AblateTextOptions& options, const AblationProgress& progress) {
  return ablate_texts(generator, texts, groups, options.score, progress);
}

Ablation ablate(const MaskFiller& filler, std::span<const std::string> texts, std::span<const NamedHeads> groups,
                const AblateMaskedOptions& options, const AblationProgress& progress) {
  return ablate_texts(filler, texts, groups, options.score, progress);
}

std::string ablation_table(const Ablation& ablation) {
  const AblatedHeads& whole = ablation.whole;
  std::vector<TableRow> rows = {{"without", "loss", "change", "perplexity"}};
  std::vector<bool> right = {false, true, true, true};
  if (whole.bleu) {
    rows[0].insert(rows[0].end(), {"BLEU", "change"});
    right.insert(right.end(), {true, true});
  }
  const auto add = [&](const AblatedHeads& one, bool changed) {
    TableRow row = {one.name, fmt::format("{:.4f}", one.loss), changed ? change(whole.loss, one.loss, 4) : "",
                    fmt::format("{:.3f}", one.perplexity())};
    if (whole.bleu)
      row.insert(row.end(), {fmt::format("{:.2f}", *one.bleu), changed ? change(*whole.bleu, *one.bleu, 2) : ""});
    rows.push_back(std::move(row));
  };
  add(whole, false);
  for (const AblatedHeads& one : ablation.ablated) add(one, true);
  return table(rows, right);
}

}  // namespace qkv
