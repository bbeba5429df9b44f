// chrF (Popovic, 2015) and chrF++ (Popovic, 2017), equal to those of sacreBLEU: the F score of character n-grams
// and, in chrF++, of word n-grams.
//
//     chrF = 100 (1 + beta^2) P R / (beta^2 P + R)       P, R: precision and recall averaged over the orders
//
//     ChrfScore score = chrf(hypotheses, references);                          // chrF2, of a corpus
//     ChrfScore plus = chrf(hypotheses, references, {.word_order = 2});        // chrF2++
//
// Lines are plain text; any bytes are accepted, a byte that is not UTF-8 is a character of its own. Scores are in
// percent. Of several references, the one with the best score counts. InputError for no lines, or different numbers
// of references and hypotheses.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "qkv/metric/statistics.h"

namespace qkv {

struct ChrfOptions {
  int character_order = 6;
  int word_order = 0;  // 2 is chrF++
  double beta = 2;     // how much more recall weighs than precision
  bool lowercase = false;
  bool whitespace = false;     // count white space as characters
  bool eps_smoothing = false;  // average the F score of every order, empty ones too, as chrF++.py does
};

struct ChrfScore {
  double score = 0;  // percent
  double beta = 2;
  int word_order = 0;

  std::string name() const;       // "chrF2", "chrF2++"
  std::string to_string() const;  // "chrF2 = 79.32"
};

ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::string> references,
               const ChrfOptions& options = {});
ChrfScore chrf(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> reference_streams,
               const ChrfOptions& options = {});
// Per sentence and order: n-grams of the hypothesis, of the reference, and in both. chrf_of() computes the score
// from their sums.
metric::Statistics chrf_statistics(std::span<const std::string> hypotheses,
                                   std::span<const std::vector<std::string>> reference_streams,
                                   const ChrfOptions& options = {});
ChrfScore chrf_of(std::span<const double> sums, const ChrfOptions& options = {});

ChrfScore sentence_chrf(const std::string& hypothesis, const std::vector<std::string>& references,
                        const ChrfOptions& options = {});

// "nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no", as sacreBLEU writes it, without its version.
std::string signature(const ChrfOptions& options, int references = 1);

}  // namespace qkv
