// Counts of the n-grams of a sequence of symbols: characters (chrF) or words that are numbered by Words (BLEU).
//
//     NgramCounts counts = count_ngrams(U"banana", 2);     // ba 1, an 2, na 2
//     int64_t shared = matches(counts, count_ngrams(U"bandana", 2));
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace qkv::metric {

// The keys are views into the sequence: it must outlive its counts.
using NgramCounts = std::unordered_map<std::u32string_view, int64_t>;

NgramCounts count_ngrams(std::u32string_view symbols, int n);
int64_t total(const NgramCounts& counts);
// The number of n-grams of the hypothesis that are in the reference, each at most as often as there ("clipped").
int64_t matches(const NgramCounts& hypothesis, const NgramCounts& reference);

// Numbers words in the order of their first appearance, so that a sentence becomes a string of symbols.
class Words {
 public:
  char32_t number(std::u32string_view word);

 private:
  std::unordered_map<std::u32string, char32_t> numbers_;
};

}  // namespace qkv::metric
