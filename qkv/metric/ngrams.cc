#include "qkv/metric/ngrams.h"

#include <algorithm>

namespace qkv::metric {

NgramCounts count_ngrams(std::u32string_view symbols, int n) {
  NgramCounts counts;
  const auto order = static_cast<size_t>(n);
  for (size_t i = 0; i + order <= symbols.size(); ++i) ++counts[symbols.substr(i, order)];
  return counts;
}

int64_t total(const NgramCounts& counts) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : counts) sum += count;
  return sum;
}

int64_t matches(const NgramCounts& hypothesis, const NgramCounts& reference) {
  int64_t sum = 0;
  for (const auto& [ngram, count] : hypothesis) {
    const auto found = reference.find(ngram);
    if (found != reference.end()) sum += std::min(count, found->second);
  }
  return sum;
}

char32_t Words::number(std::u32string_view word) {
  return numbers_.try_emplace(std::u32string(word), static_cast<char32_t>(numbers_.size())).first->second;
}

}  // namespace qkv::metric
