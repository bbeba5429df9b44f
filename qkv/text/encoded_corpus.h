// Sentence pairs as token ids, millions of them in little memory: 16 bytes a pair and 4 a token.
//
//     EncodedCorpus corpus = encode_corpus("train.tsv.gz", source, target, {.max_length = 256});   // two tokenizers
//     std::span<const int32_t> ids = corpus.source(17);        // no bos, no eos
//     int64_t n = corpus.skipped().too_long;                   // pairs
//
// Encoding runs on all threads and keeps the order of the corpus. InputError if no pair is left.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "qkv/text/corpus.h"
#include "qkv/text/tokenizer.h"

namespace qkv {

struct EncodeOptions {
  int64_t max_length = 0;            // pairs with a longer side, eos included, are skipped; 0: any length
  const Holdout* holdout = nullptr;  // pairs with its sources are skipped
};

class EncodedCorpus {
 public:
  struct Skipped {
    int64_t blank = 0, too_long = 0, held_out = 0;  // pairs
  };

  int64_t size() const { return static_cast<int64_t>(pairs_.size()); }
  std::span<const int32_t> source(int64_t pair) const;
  std::span<const int32_t> target(int64_t pair) const;
  int64_t source_tokens() const { return source_tokens_; }  // without eos
  int64_t target_tokens() const { return target_tokens_; }
  const Skipped& skipped() const { return skipped_; }
  // A hash of all pairs: a checkpoint stores it to detect that a training is resumed with other data.
  uint64_t fingerprint() const { return fingerprint_; }

  void add(std::span<const int32_t> source, std::span<const int32_t> target);
  Skipped& skipped() { return skipped_; }

 private:
  struct Pair {  // the target follows the source in memory
    const int32_t* ids;
    int32_t source, target;
  };

  // In blocks: a vector that doubles its capacity would need twice the memory at times.
  std::vector<std::unique_ptr<int32_t[]>> blocks_;
  int32_t* next_ = nullptr;  // free part of the last block
  size_t free_ = 0;
  std::vector<Pair> pairs_;
  int64_t source_tokens_ = 0, target_tokens_ = 0;
  uint64_t fingerprint_ = 0;
  Skipped skipped_;
};

EncodedCorpus encode_corpus(const Corpus& pairs, const Tokenizer& source, const Tokenizer& target,
                            const EncodeOptions& options = {});
EncodedCorpus encode_corpus(std::span<const SentencePair> pairs, const Tokenizer& source, const Tokenizer& target,
                            const EncodeOptions& options = {});

// A corpus of text: its documents are the sources, without targets. A document longer than max_length is not skipped.
struct EncodeTextOptions {
  std::vector<int32_t> before = {};  // tokens before every document
  int64_t max_length = 0;            // documents are cut, so that they fit with `before` and eos; 0: any length
  const Holdout* holdout = nullptr;  // documents that are held out are skipped
};
EncodedCorpus encode_text(const Corpus& text, const Tokenizer& tokenizer, const EncodeTextOptions& options = {});
// One more document.
void add_document(std::string_view document, const Tokenizer& tokenizer, const EncodeTextOptions& options,
                  EncodedCorpus& corpus);

}  // namespace qkv
