#include "qkv/metric/evaluation.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "qkv/base/counted.h"
#include "qkv/base/error.h"
#include "qkv/text/unicode.h"
#include "qkv/text/utf8.h"

namespace qkv {

Evaluation::Evaluation(std::vector<SystemOutput> systems, std::vector<std::vector<std::string>> references,
                       const EvaluateOptions& options)
    : systems_(std::move(systems)), references_(std::move(references)), options_(options) {
  require<InputError>(!systems_.empty(), "evaluate", "no systems: give the translations of at least one");
  require<InputError>(!references_.empty() && !references_.front().empty(), "evaluate",
                      "no references: a score needs at least one for every sentence");
  const auto add = [&](std::string name, std::string signature, auto statistics, auto score) {
    Metric metric{std::move(name), std::move(signature), score, {}};
    for (const SystemOutput& system : systems_) metric.systems.push_back(statistics(system.lines));
    metrics_.push_back(std::move(metric));
  };
  for (const SystemOutput& system : systems_)
    for (const auto& lines : references_)
      require<InputError>(system.lines.size() == lines.size(), "evaluate",
                          "{} has {} for {}: lines must match one to one", system.name,
                          counted(system.lines.size(), "line"), counted(lines.size(), "reference"));
  const auto count = static_cast<int>(references_.size());
  add(
      "BLEU", qkv::signature(options_.bleu, count),
      [&](const auto& lines) { return bleu_statistics(lines, references_, options_.bleu); },
      [bleu = options_.bleu](std::span<const double> sums) { return bleu_of(sums, bleu).score; });
  add(
      ChrfScore{.beta = options_.chrf.beta, .word_order = options_.chrf.word_order}.name(),
      qkv::signature(options_.chrf, count),
      [&](const auto& lines) { return chrf_statistics(lines, references_, options_.chrf); },
      [chrf = options_.chrf](std::span<const double> sums) { return chrf_of(sums, chrf).score; });
  add(
      "TER", qkv::signature(options_.ter, count),
      [&](const auto& lines) { return ter_statistics(lines, references_, options_.ter); },
      [](std::span<const double> sums) { return ter_of(sums).score; });
}

// The options of resampling come after the number of references.
std::string Evaluation::full_signature(const std::string& signature) const {
  std::string resampling;
  if (options_.confidence || options_.paired == PairedTest::bootstrap)
    resampling += fmt::format("|bs:{}", options_.bootstrap.samples);
  if (options_.paired == PairedTest::randomization)
    resampling += fmt::format("|ar:{}", options_.randomization.trials);
  if (resampling.empty()) return signature;
  const size_t at = signature.find('|');
  return fmt::format(
      "{}{}|seed:{}{}", signature.substr(0, at), resampling,
      options_.paired == PairedTest::randomization ? options_.randomization.seed : options_.bootstrap.seed,
      signature.substr(at));
}

bool Evaluation::exact(size_t system, size_t sentence) const {
  return std::any_of(references_.begin(), references_.end(),
                     [&](const auto& lines) { return lines[sentence] == systems_[system].lines[sentence]; });
}

SystemResult Evaluation::scores(size_t system, std::span<const size_t> sentences) const {
  SystemResult result{.name = systems_[system].name, .metrics = {}, .sentences = std::ssize(sentences)};
  for (const Metric& metric : metrics_) {
    std::vector<double> sums(metric.systems[system].front().size());
    for (const size_t i : sentences)
      for (size_t j = 0; j < sums.size(); ++j) sums[j] += metric.systems[system][i][j];
    result.metrics.push_back(
        {.name = metric.name, .signature = full_signature(metric.signature), .score = metric.score(sums)});
    if (&metric == &metrics_.front()) result.metrics[0].details = bleu_of(sums, options_.bleu).details();
  }
  for (const size_t i : sentences) result.exact_matches += exact(system, i);
  return result;
}

std::vector<SystemResult> Evaluation::results() const {
  std::vector<size_t> all(sentences());
  std::iota(all.begin(), all.end(), size_t{0});
  std::vector<SystemResult> results;
  for (size_t system = 0; system < systems_.size(); ++system) results.push_back(scores(system, all));
  for (size_t m = 0; m < metrics_.size(); ++m) {
    const Metric& metric = metrics_[m];
    std::vector<double> first;  // scores of the resamples of the first system
    for (size_t system = 0; system < systems_.size(); ++system) {
      MetricResult& result = results[system].metrics[m];
      if (options_.confidence || options_.paired == PairedTest::bootstrap) {
        std::vector<double> scores = resampled_scores(metric.systems[system], metric.score, options_.bootstrap);
        if (system > 0 && options_.paired == PairedTest::bootstrap)
          result.p_value = paired_bootstrap(first, scores, result.score - results[0].metrics[m].score);
        result.confidence = confidence_of(scores);
        if (system == 0) first = std::move(scores);
      }
      if (system > 0 && options_.paired == PairedTest::randomization)
        result.p_value =
            paired_randomization(metric.systems[0], metric.systems[system], metric.score, options_.randomization);
    }
  }
  return results;
}

std::vector<LengthBucket> Evaluation::by_length(std::span<const std::string> texts) const {
  require<InputError>(texts.size() == sentences(), "evaluate", "{} to measure, but {}",
                      counted(texts.size(), "text"), counted(sentences(), "sentence"));
  constexpr size_t step = 10, last = 6;  // 60 words and more
  std::vector<std::vector<size_t>> members(last + 1);
  for (size_t i = 0; i < texts.size(); ++i)
    members[std::min(words(utf8_decode(texts[i])).size() / step, last)].push_back(i);
  std::vector<LengthBucket> buckets;
  for (size_t b = 0; b < members.size(); ++b) {
    if (members[b].empty()) continue;
    LengthBucket& bucket = buckets.emplace_back();
    bucket.first = static_cast<int64_t>(b * step);
    bucket.below = b == last ? 0 : static_cast<int64_t>((b + 1) * step);
    for (size_t system = 0; system < systems_.size(); ++system) {
      bucket.results.push_back(scores(system, members[b]));
      for (MetricResult& metric : bucket.results.back().metrics) metric.signature.clear();
    }
  }
  return buckets;
}

double SystemResult::exact_share() const {
  return sentences == 0 ? 0.0 : static_cast<double>(exact_matches) / static_cast<double>(sentences);
}

std::string LengthBucket::label() const {
  if (first == 0) return fmt::format("<{}", below);
  return below == 0 ? fmt::format(">={}", first) : fmt::format("{}-{}", first, below - 1);
}

std::vector<SentenceScores> Evaluation::sentence_scores(size_t system) const {
  require<UsageError>(system < systems_.size(), "evaluate", "system must be 0 to {}, got {}", systems_.size() - 1,
                      system);
  BleuOptions bleu = options_.bleu;
  bleu.effective_order = true;
  std::vector<SentenceScores> scores;
  for (size_t i = 0; i < sentences(); ++i)
    scores.push_back({.bleu = bleu_of(metrics_[0].systems[system][i], bleu).score,
                      .chrf = metrics_[1].score(metrics_[1].systems[system][i]),
                      .ter = metrics_[2].score(metrics_[2].systems[system][i])});
  return scores;
}

}  // namespace qkv
