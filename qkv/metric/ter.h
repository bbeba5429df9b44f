// TER, the translation edit rate (Snover et al., 2006), equal to that of sacreBLEU: the number of edits that turn
// the hypothesis into the reference, over the number of words of the reference. An edit inserts, deletes or
// replaces a word, or moves a block of words.
//
//     TER = 100 edits / reference length            0 is best; more than 100 is possible
//
//     TerScore score = ter(hypotheses, references);
//     fmt::print("{}\n", score.to_string());               // TER = 25.09
//
// Finding the minimum with moves is NP-hard. As in Tercom, the best move is made repeatedly as long as it reduces
// the edit distance. Lines are plain text, split at white space; any bytes are accepted. Of several references, the
// closest one gives the edits, and the mean of their lengths is the reference length. InputError for no lines, or
// different numbers of references and hypotheses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "qkv/metric/statistics.h"

namespace qkv {

struct TerOptions {
  bool case_sensitive = false;
  bool normalized = false;      // separate Western punctuation, as in BLEU's 13a
  bool no_punctuation = false;  // remove . , ? : ; ! " ( )
};

struct TerScore {
  double score = 0;  // percent
  int64_t edits = 0;
  double reference_length = 0;  // words

  std::string to_string() const;
};

TerScore ter(std::span<const std::string> hypotheses, std::span<const std::string> references,
             const TerOptions& options = {});
TerScore ter(std::span<const std::string> hypotheses, std::span<const std::vector<std::string>> reference_streams,
             const TerOptions& options = {});
// Per sentence: edits and reference length. ter_of() computes the score from their sums.
metric::Statistics ter_statistics(std::span<const std::string> hypotheses,
                                  std::span<const std::vector<std::string>> reference_streams,
                                  const TerOptions& options = {});
TerScore ter_of(std::span<const double> sums);

TerScore sentence_ter(const std::string& hypothesis, const std::vector<std::string>& references,
                      const TerOptions& options = {});

// "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no", as sacreBLEU writes it, without its version.
std::string signature(const TerOptions& options, int references = 1);

}  // namespace qkv
