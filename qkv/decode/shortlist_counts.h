// Counts of which target tokens are aligned to which source tokens, to make a shortlist of (shortlist.h).
//
//     count(s, t) = sum of the alignment weights between s and t in all pairs       weights below 0.1 are left out
//     p(t | s)    = count(s, t) / sum_u count(s, u)
//
//     ShortlistCounts counts(source_tokens, target_tokens);                // sizes of the vocabularies
//     counts.add(source, target, alignment);                               // ids (S), ids (T), weights (T,S): alignment.h
//     counts.likely_translations(17, 50)                                           // target tokens, the highest p first
//
// Weak links are many and say little: without them, counts take memory in proportion to the links of words. Equal counts
// are sorted by id. Counts depend on the order of the pairs only by the rounding of sums in double precision. Errors: ids
// outside the vocabularies, an alignment of another shape.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

class ShortlistCounts {
 public:
  static constexpr float min_weight = 0.1f;

  ShortlistCounts(int64_t source_tokens, int64_t target_tokens);

  void add(std::span<const int32_t> source, std::span<const int32_t> target, const Tensor& alignment);

  // Target tokens, at most `count`: of all that occur; of those that are linked to a source token.
  std::vector<int32_t> frequent(int64_t count) const;
  std::vector<int32_t> likely_translations(int32_t source, int64_t count) const;

 private:
  std::vector<std::unordered_map<int32_t, double>> links_;  // of every source token
  std::vector<int64_t> frequencies_;                        // of every target token
};

}  // namespace qkv
