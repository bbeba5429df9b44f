// TER, the translation edit rate (Snover et al., 2006), equal to sacreBLEU: how many edits make the translation the
// reference, over the number of words of the reference. An edit inserts, deletes or replaces a word, or moves some
// neighbours together.
//
//     TER = 100 edits / reference length            0 is best; more than 100 is possible
//
//     TerScore score = ter(hypotheses, references);
//     fmt::print("{}\n", score.to_string());               // TER = 25.09
//
// The fewest edits with moves are not computable in reasonable time; as in Tercom, the move that saves most is made
// for as long as one saves anything. Lines are plain text, cut at white space; any bytes are accepted. Of several
// references the closest one counts, and the mean of their lengths. Error when there are no lines, or not as many
// references as hypotheses.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace qkv {

struct TerOptions {
  bool case_sensitive = false;
  bool normalized = false;      // Western punctuation stands alone, as in BLEU's 13a
  bool no_punctuation = false;  // . , ? : ; ! " ( ) are removed
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
TerScore sentence_ter(const std::string& hypothesis, const std::vector<std::string>& references,
                      const TerOptions& options = {});

// "nrefs:1|case:lc|tok:tercom|norm:no|punct:yes|asian:no", as sacreBLEU writes it, its version left out.
std::string signature(const TerOptions& options, int references = 1);

}  // namespace qkv
