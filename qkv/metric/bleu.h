// BLEU (Papineni et al., 2002), equal to sacreBLEU (Post, 2018):
//
//     BLEU = 100 BP exp(1/N sum over n = 1..N of log p_n)        p_n: clipped n-gram precision, N = 4
//     BP   = min(1, exp(1 - reference length / hypothesis length))
//
//     BleuScore score = bleu(hypotheses, references);             // of a corpus; one reference each
//     fmt::print("{}\n", score.to_string());                      // BLEU = 61.99 85.9/68.9/57.4/50.5 (BP = 0.963
//     ...) double one = sentence_bleu("the cat", {{"the cat sat"}}).score;
//
// Lines are plain text, not tokenized: the metric has tokenizers of its own. Any bytes are accepted. Scores are in
// percent. Error when there are no lines, or not as many references as hypotheses.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "qkv/metric/tokenize.h"

namespace qkv {

// What to do about an order without any match (Chen and Cherry, 2014).
enum class BleuSmoothing {
  none,         // the score is zero
  floor,        // smoothing_value matches, default 0.1
  add_k,        // smoothing_value (default 1) added to matches and totals of the orders above 1
  exponential,  // 1/2, 1/4, 1/8 ... of a match: mteval's way, and the default
};

struct BleuOptions {
  BleuTokenizer tokenizer = BleuTokenizer::wmt13a;
  bool lowercase = false;
  BleuSmoothing smoothing = BleuSmoothing::exponential;
  std::optional<double> smoothing_value = {};
  int max_order = 4;             // N
  bool effective_order = false;  // leave out orders that the hypothesis is too short for: for single sentences
};

struct BleuScore {
  double score = 0;                     // percent
  std::vector<double> precisions;       // percent, smoothed, by order
  std::vector<double> matches, totals;  // n-grams, by order; whole numbers unless add_k added a fraction
  double brevity_penalty = 1;
  int64_t hypothesis_length = 0, reference_length = 0;  // words

  std::string to_string() const;  // the line that sacreBLEU prints
};

BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const BleuOptions& options = {});
// Several references: each stream has one line for every hypothesis. An n-gram may match in any of them; the length
// that counts is the closest one.
BleuScore bleu(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> reference_streams,
               const BleuOptions& options = {});

// One sentence with one or more references; effective_order is on unless options say otherwise.
BleuScore sentence_bleu(const std::string& hypothesis, const std::vector<std::string>& references,
                        const BleuOptions& options = {.effective_order = true});

// What has to be the same for two scores to be comparable, as sacreBLEU writes it (its version left out):
// "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp".
std::string signature(const BleuOptions& options, int references = 1);

}  // namespace qkv
