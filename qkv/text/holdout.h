// Sentence pairs that are kept out of training, to measure on. They are chosen by source sentence: one that is held
// out never occurs in training, with whatever translation.
//
//     Holdout holdout("pairs.tsv.gz", 2000, /*seed=*/1);
//     CorpusReader training("pairs.tsv.gz", {.holdout = &holdout});          // everything else
//     evaluate(holdout.pairs());                                             // 2,000 pairs, no source twice
//
// Which ones depends only on the seed and the set of source sentences, not on their order. Two sources that differ
// in white space alone are the same. One pass over the corpus; memory for the chosen pairs only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "qkv/text/corpus.h"

namespace qkv {

class Holdout {
 public:
  Holdout() = default;  // holds nothing out
  // InputError if the corpus has no more than `count` distinct sources.
  Holdout(const Corpus& corpus, int64_t count, uint64_t seed);

  bool contains(std::string_view source) const;
  // In the order of the corpus, each source with the first of its translations.
  const std::vector<SentencePair>& pairs() const { return pairs_; }

 private:
  uint64_t seed_ = 0;
  std::unordered_set<uint64_t> chosen_;  // numbers of the sources: a wrong hit would only hold out one more
  std::vector<SentencePair> pairs_;
};

}  // namespace qkv
