// Phrases of tokens that every answer must contain: lexically constrained decoding (Post and Vilar, "Fast Lexically
// Constrained Decoding with Dynamic Beam Allocation for Neural Machine Translation", 2018).
//
//     const RequiredPhrases phrases({{17, 4}, {9}});
//     PhraseProgress progress = phrases.after({}, 17);
//     phrases.next_tokens(progress)                       // {4} continues the phrase that was begun; at first {17, 9}
//     phrases.complete(progress)                          // false: 1 of 3 tokens are met
//
// beam.h keeps hypotheses of every number of met tokens alive, and finishes those that have met all. A phrase that
// was begun and does not continue is not met; its tokens may begin another one. Phrases are met in any order, one
// after another. The tokens of a phrase are adjacent, and no two phrases share one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace qkv {

// Of one hypothesis.
struct PhraseProgress {
  std::vector<bool> met = {};  // of every phrase; empty: none
  int64_t begun = -1;          // the phrase whose first tokens are the last ones of the hypothesis
  int64_t matched = 0;         // how many of them
  int64_t tokens = 0;          // met tokens of all phrases, those of the begun one included
};

class RequiredPhrases {
 public:
  RequiredPhrases() = default;
  explicit RequiredPhrases(std::vector<std::vector<int32_t>> phrases);  // none of them empty

  bool empty() const { return phrases_.empty(); }
  int64_t tokens() const { return tokens_; }
  PhraseProgress after(PhraseProgress progress, int32_t id) const;
  // The tokens that advance it: the next one of the phrase that was begun, else the first ones of those not met.
  std::vector<int32_t> next_tokens(const PhraseProgress& progress) const;
  bool complete(const PhraseProgress& progress) const { return progress.tokens == tokens_; }

 private:
  bool is_met(const PhraseProgress& progress, size_t phrase) const;
  int64_t phrase_that_begins(const std::vector<int32_t>& ids, const PhraseProgress& progress) const;

  std::vector<std::vector<int32_t>> phrases_;
  int64_t tokens_ = 0;
};

}  // namespace qkv
