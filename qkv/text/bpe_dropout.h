// BPE-dropout (Provilkov et al., "BPE-dropout: simple and effective subword regularization", 2020): at random, other
// subwords for the same text. A word is divided into its characters, and neighbors are merged in the order of the
// vocabulary, as BPE does; but each possible merge is left out with probability `rate` at every step, and a word
// whose possible merges are all left out stays as it is. A model that sees other subwords in every epoch learns what
// they are made of, and overfits a small corpus later.
//
//     BpeDropout dropout(tokenizer, 0.1);                              // a tokenizer of type bpe
//     Random random(1);
//     std::vector<int32_t> other = dropout.sample(ids, random);        // decodes to the text of `ids`
//
// At a rate of 0 the ids are those of tokenizer.encode(); at 1 they are single characters. Unknown characters and
// the bytes of byte fallback keep their ids. Immutable, cheap to copy, and may be used by several threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "qkv/base/random.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

class BpeDropout {
 public:
  // UsageError unless the rate is in [0, 1].
  BpeDropout(const Tokenizer& tokenizer, double rate);

  std::vector<int32_t> sample(std::span<const int32_t> ids, Random& random) const;

 private:
  struct Merges;
  void merge(std::vector<int32_t>& symbols, size_t begin, Random& random) const;

  double rate_;
  std::shared_ptr<const Merges> merges_;
};

}  // namespace qkv
