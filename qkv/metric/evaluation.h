// The scores of one or more translation systems on the same sentences: BLEU, chrF, TER and exact matches, tests of
// whether the others differ from the first, scores by length and by sentence.
//
//     const Evaluation e({{"base", lines}, {"big", other_lines}}, {references}, {.paired = PairedTest::bootstrap});
//     e.results()[1].metrics[0].score, e.results()[1].metrics[0].p_value         // BLEU of big, and p against base
//     for (const LengthBucket& b : e.by_length(sources)) ...                      // 0 to 9 words, 10 to 19, ...
//     fmt::print("{}", results_table(e.results()));                               // evaluation_table.h
//
// The statistics of every sentence are computed once, by the constructor. InputError for no systems, no lines, and
// systems whose number of lines is not that of the references.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/base/names.h"
#include "qkv/metric/bleu.h"
#include "qkv/metric/bootstrap.h"
#include "qkv/metric/chrf.h"
#include "qkv/metric/paired.h"
#include "qkv/metric/ter.h"

namespace qkv {

struct SystemOutput {
  std::string name;
  std::vector<std::string> lines;  // a translation of each sentence
};

// The names are those of sacreBLEU.
enum class PairedTest { none, bootstrap, randomization };
constexpr auto names_of(PairedTest) {
  return std::array{Named{PairedTest::none, "none"}, Named{PairedTest::bootstrap, "bs"},
                    Named{PairedTest::randomization, "ar"}};
}

struct EvaluateOptions {
  BleuOptions bleu = {};
  ChrfOptions chrf = {};
  TerOptions ter = {};
  bool confidence = false;  // intervals by bootstrap resampling; PairedTest::bootstrap has them anyway
  PairedTest paired = PairedTest::none;
  BootstrapOptions bootstrap = {};
  RandomizationOptions randomization = {};
};

struct MetricResult {
  std::string name, signature;  // as sacreBLEU writes them: "BLEU", "nrefs:1|bs:1000|seed:12345|case:mixed|..."
  std::string details = {};     // of BLEU: its precisions and lengths
  double score = 0;
  std::optional<Confidence> confidence = {};
  std::optional<double> p_value = {};  // against the first system
};

struct SystemResult {
  std::string name;
  std::vector<MetricResult> metrics;  // BLEU, chrF, TER
  int64_t exact_matches = 0, sentences = 0;

  double exact_share() const;  // of the sentences, 0 to 1
};

// The sentences of `first` to `below` - 1 words; below 0: no limit.
struct LengthBucket {
  int64_t first = 0, below = 0;
  std::vector<SystemResult> results;  // of the systems, without confidence and p-values

  std::string label() const;  // "<10", "10-19", ">=60"
};

struct SentenceScores {
  double bleu = 0, chrf = 0, ter = 0;
};

class Evaluation {
 public:
  Evaluation(std::vector<SystemOutput> systems, std::vector<std::vector<std::string>> references,
             const EvaluateOptions& options = {});

  std::vector<SystemResult> results() const;
  // Buckets by the number of words, separated by white space, in these texts, one for each sentence: the sources,
  // or references. The limits are those of compare-mt; buckets without sentences are left out.
  std::vector<LengthBucket> by_length(std::span<const std::string> texts) const;
  std::vector<SentenceScores> sentence_scores(size_t system) const;

  const std::vector<SystemOutput>& systems() const { return systems_; }
  const std::vector<std::vector<std::string>>& references() const { return references_; }
  size_t sentences() const { return references_.front().size(); }

 private:
  struct Metric {
    std::string name, signature;
    std::function<double(std::span<const double>)> score;
    std::vector<metric::Statistics> systems;
  };

  SystemResult scores(size_t system, std::span<const size_t> sentences) const;
  bool exact(size_t system, size_t sentence) const;
  std::string full_signature(const std::string& signature) const;

  std::vector<SystemOutput> systems_;
  std::vector<std::vector<std::string>> references_;
  EvaluateOptions options_;
  std::vector<Metric> metrics_;
};

}  // namespace qkv
