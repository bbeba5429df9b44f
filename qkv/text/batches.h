// Batches of sentence pairs as padded tensors, in an order that is a function of the seed and the epoch alone.
//
//     BatchStream batches(corpus, {.batch_tokens = 4096, .seed = 1});
//     Batch batch = batches.next();                 // never ends: epoch after epoch
//     BatchPosition here = batches.position();      // for a checkpoint; batches.seek(here) continues from there
//
// An epoch in the default order: the pairs are shuffled and divided into pools; a pool is sorted by length, so that
// the sentences of a batch have similar lengths and little padding; it is divided into batches, whose order is
// shuffled again. Every pair occurs once per epoch. seek() costs the same for any position: planning an epoch takes
// some seconds for ten million pairs, and is done when its first batch is requested.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/tensor/tensor.h"
#include "qkv/text/bpe_dropout.h"
#include "qkv/text/encoded_corpus.h"

namespace qkv {

enum class BatchOrder {
  bucketed,  // shuffled, each batch of similar lengths: for training
  shuffled,  // shuffled, regardless of length
  sorted,    // by length, the same every epoch: for validation
  as_given,  // in the order of the corpus
};

// The special tokens of a batch: around a source, and around a target for the decoder.
struct BatchTokens {
  TextFrame source = {.before = {}, .after = {Tokenizer::eos}};
  int32_t bos = Tokenizer::bos, eos = Tokenizer::eos;
  std::vector<int32_t> before_target = {};  // of every answer, such as a language
  int32_t pad = Tokenizer::pad;

  // For published models; ours have the tokens above.
  static BatchTokens of(const Tokenizer& source, const Tokenizer& target);
  int64_t extra() const;  // tokens that a sentence has more on one of the sides
};

struct BatchOptions {
  // Maximum number of target tokens, and of source tokens, in a batch, padding and eos included; a longer sentence
  // is a batch of its own.
  int64_t batch_tokens = 4096;
  int64_t sentences = 0;  // if not 0: pairs per batch (the last ones may have fewer), instead of batch_tokens
  BatchOrder order = BatchOrder::bucketed;
  uint64_t seed = 1;
  int64_t pool = 100'000;  // pairs sorted by length together
  // Every occurrence of a pair has tokens of its own, the same at every reading of an epoch; batches are planned by
  // the lengths in the corpus. A sentence longer than max_length (eos included; 0: any) stays as it is.
  std::optional<BpeDropout> source_dropout = {}, target_dropout = {};
  int64_t max_length = 0;
  BatchTokens tokens = {};
};

struct BatchPosition {
  int64_t epoch = 0, batch = 0;
  friend bool operator==(const BatchPosition&, const BatchPosition&) = default;
};

// B sentence pairs, the longest source S tokens and the longest target T, eos included. Rows end in padding.
struct Batch {
  Tensor source;                                        // (B,S) i32: ids, eos
  Tensor target_in;                                     // (B,T) i32: bos, ids: the input of the decoder
  Tensor target_out;                                    // (B,T) i32: ids, eos: its expected output; padded with -1
  std::vector<int32_t> source_lengths, target_lengths;  // (B) without padding, with eos
  int64_t source_tokens = 0, target_tokens = 0;         // their sums
  std::vector<int64_t> pairs;                           // (B) indices in the corpus
  BatchPosition position;
};

class BatchStream {
 public:
  // The corpus must outlive the stream. UsageError for options out of range.
  explicit BatchStream(const EncodedCorpus& corpus, const BatchOptions& options = {});

  Batch next();
  BatchPosition position() const { return position_; }  // of the batch that next() will return
  void seek(BatchPosition position);                    // InputError if the epoch has no such batch
  int64_t batches_in_epoch();                           // in the epoch of position(); epochs differ slightly

 private:
  struct Plan {
    int64_t epoch = -1;
    std::vector<uint32_t> order = {};   // pairs, batch after batch
    std::vector<uint32_t> begins = {};  // of the batches in the order, and their end
    std::vector<uint32_t> turns = {};   // the order of the batches
  };
  void make_plan(int64_t epoch);
  void cut(size_t begin, size_t end);
  std::span<const int32_t> tokens(int64_t pair, Side side, std::vector<int32_t>& sampled) const;

  const EncodedCorpus& corpus_;
  BatchOptions options_;
  BatchPosition position_;
  Plan plan_;
};

// Rows of ids as one tensor (B,L) i32, with tokens before and after each of them, padded to the longest.
Tensor pad_ids(std::span<const std::span<const int32_t>> rows, const TextFrame& frame, int32_t pad);

}  // namespace qkv
