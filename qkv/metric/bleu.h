// BLEU (Papineni et al., 2002), equal to that of sacreBLEU (Post, 2018):
//
//     BLEU = 100 BP exp(1/N sum over n = 1..N of log p_n)        p_n: clipped n-gram precision, N = 4
//     BP   = min(1, exp(1 - reference length / hypothesis length))
//
//     BleuScore score = bleu(hypotheses, references);             // of a corpus; one reference each
//     fmt::print("{}\n", score.to_string());                      // BLEU = 61.99 85.9/68.9/57.4/50.5 (BP = 0.963 ...
//     double one = sentence_bleu("the cat", {{"the cat sat"}}).score;
//
// Lines are plain text, not tokenized: the metric has its own tokenizers. Any bytes are accepted. Scores are in
// percent. InputError for no lines, or different numbers of references and hypotheses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/metric/statistics.h"
#include "qkv/metric/tokenize.h"

namespace qkv {

// Smoothing of orders without a match (Chen and Cherry, 2014).
enum class BleuSmoothing {
  none,         // the score is zero
  floor,        // smoothing_value matches, default 0.1
  add_k,        // smoothing_value (default 1) added to matches and totals of the orders above 1
  exponential,  // 1/2, 1/4, 1/8 ... of a match, as mteval does; the default
};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::wmt13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  std::optional<double> smoothing_value = {};
  int max_order = 4;             // N
  bool effective_order = false;  // skip orders that the hypothesis is too short for: for single sentences
};

struct BleuScore {
  double score = 0;                     // percent
  std::vector<double> precisions;       // percent, smoothed, by order
  std::vector<double> matches, totals;  // n-grams, by order; whole numbers unless add_k added a fraction
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0, reference_length = 0;  // words

  std::string to_string() const;  // "BLEU = 61.99 " and details()
  std::string details() const;    // "85.9/68.9/57.4/50.5 (BP = 0.963 ratio = ...)"
};

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options = {});
// Several references: each stream has one line for every hypothesis. An n-gram may match in any of them; the
// reference length is the one closest to the hypothesis.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> reference_streams,
               const BleuOptions& options = {});

// Per sentence: hypothesis and reference length, matches by order, totals by order. bleu_of() computes the score
// from their sums.
metric::Statistics bleu_statistics(std::span<const std::string> hypotheses,
                                   std::span<const std::vector<std::string>> reference_streams,
                                   const BleuOptions& options = {});
BleuScore bleu_of(std::span<const double> sums, const BleuOptions& options = {});

// One sentence with one or more references; effective_order is on unless options say otherwise.
BleuScore sentence_bleu(const std::string& hypothesis, const std::vector<std::string>& references,
                        const BleuOptions& options = {.effective_order = true});

// The options that must agree for two scores to be comparable, as sacreBLEU writes them, without its version:
// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp".
std::string signature(const BleuOptions& options, int references = 1);

}  // namespace qkv
