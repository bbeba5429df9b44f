// Tokens for masked language models (Devlin et al., "BERT: pre-training of deep bidirectional transformers for
// language understanding", 2019, section 3.1): some tokens of a sentence are chosen at random; most of these become
// the mask token, some a random token, some stay; the model predicts what they were.
//
//     TokenMasking masking({.mask = 4, .vocabulary = tokenizer.size(), .seed = 1});
//     MaskedBatch batch = masking.mask(ids, lengths, sentences, epoch);      // ids i32 (B,T), lengths (B)
//     loss = cross_entropy(logits_of(batch.inputs), batch.targets);
//
// In a sentence with n tokens that are not special, round(rate * n) are chosen, but at least one. With word flags whole
// words are chosen in random order, as long as the number of tokens stays within that. Each chosen token is replaced
// independently, and random tokens are never special ones.
//
// The random numbers are a function of the seed, of the sentence's index in the corpus, and of the epoch: a sentence
// is masked in the same way in any batch, and in another way in every epoch.
// Errors: UsageError for options out of range; Error for shapes that do not fit, and ids outside the vocabulary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/tensor/tensor.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct MaskingOptions {
  double rate = 0.15;            // of the tokens that are chosen, above 0 to 1
  double mask_fraction = 0.8;    // of the chosen ones become the mask token
  double random_fraction = 0.1;  // of the chosen ones become a random token; the others stay
  int32_t mask = -1;             // id of the mask token, required
  int64_t vocabulary = 0;        // V, required
  std::vector<int32_t> special = {Tokenizer::pad, Tokenizer::bos, Tokenizer::eos, Tokenizer::unk};  // and mask
  std::vector<bool> begins_word = {};  // for each id (V): whole words are chosen; empty: single tokens
  uint64_t seed = 1;
  int32_t ignore_index = -1;  // of cross_entropy()
};

struct MaskedTokens {
  std::vector<int32_t> inputs, targets;
  int64_t chosen = 0;
};

struct MaskedBatch {
  Tensor inputs, targets;  // (B,T) i32; the target of a token that is not chosen is ignore_index
  int64_t chosen = 0;      // tokens with a target
};

class TokenMasking {
 public:
  explicit TokenMasking(const MaskingOptions& options);

  MaskedTokens mask(std::span<const int32_t> ids, int64_t sentence, int64_t epoch) const;
  // Rows of a padded batch, and the index in the corpus of each (B).
  MaskedBatch mask(const Tensor& ids, std::span<const int32_t> lengths, std::span<const int64_t> sentences,
                   int64_t epoch) const;

 private:
  struct Span {
    size_t begin, end;
  };
  std::vector<Span> candidates(std::span<const int32_t> ids) const;

  MaskingOptions options_;
  std::vector<bool> special_;    // by id
  std::vector<int32_t> random_;  // the ids of random tokens
};

// For each id, whether it begins a word: a token that starts with a space (U+2581), or, where tokens
// begin with ##, that does not.
std::vector<bool> begins_word(const Tokenizer& tokenizer);

}  // namespace qkv
