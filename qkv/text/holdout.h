// Held-out sentence pairs, for validation. They are chosen by source sentence: a source that is held out does not
// occur in training, with any translation.
//
//     Holdout holdout("pairs.tsv.gz", 2000, /*seed=*/1);
//     CorpusReader training("pairs.tsv.gz", {.holdout = &holdout});          // everything else
//     evaluate(holdout.pairs());                                             // 2,000 pairs, no source twice
//
// The choice depends only on the seed and the set of source sentences, not on their order. Sources that differ only
// in white space count as one. One pass over the corpus; memory for the chosen pairs only.
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
  Holdout() = default;  // nothing held out
  // InputError if the corpus has no more than `count` distinct sources.
  Holdout(const Corpus& corpus, int64_t count, uint64_t seed);

  bool contains(std::string_view source) const;
  // In the order of the corpus, each source with its first translation.
  const std::vector<SentencePair>& pairs() const { return pairs_; }

 private:
  uint64_t seed_ = 0;
  std::unordered_set<uint64_t> chosen_;  // hashes of the sources: a collision holds out one source more
  std::vector<SentencePair> pairs_;
};

}  // namespace qkv
