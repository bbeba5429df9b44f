// Text for causal language models: documents packed into rows of one length without gaps, in an order that is a
// function of the seed and the epoch alone.
//
//     PackedText text(documents, {.length = 1024, .rows = 8, .seed = 1});       // spans of token ids, no eos
//     PackedBatch batch = text.next();                                          // never ends: epoch after epoch
//     BatchPosition here = text.position();         // for a checkpoint; text.seek(here) continues from there
//
// An epoch: the documents are shuffled, each is followed by eos, and this sequence is cut into rows of `length`
// tokens; a document that does not fit into the rest of a row continues in the next one. The rows are shuffled again,
// so that the parts of a long document are not in one batch. Every token is the input of one position of an epoch. Only
// the row with the end of the sequence has padding.
//
// The target of a position is the token after it, at the end of a row the first token of the next row. With `separate`,
// documents are independent: eos has no target, and attention stays inside a document by
//
//     causal() & documents(batch.documents)                                     // attention/mask/documents.h
//
// Otherwise the target of eos is the first token of the next document, as in GPT-2 (Radford et al., 2019).
//
// Errors: InputError for no tokens; UsageError for options out of range.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "qkv/tensor/tensor.h"
#include "qkv/text/batches.h"

namespace qkv {

struct PackedTextOptions {
  int64_t length = 1024;  // T, tokens of a row
  int64_t rows = 8;       // of a batch; the last one of an epoch may have fewer
  bool shuffle = true;    // else the order is as given, every epoch: for validation
  bool separate = true;
  uint64_t seed = 1;
  std::optional<int32_t> bos = {};  // before every document
  int32_t eos = Tokenizer::eos, pad = Tokenizer::pad;
  int32_t ignore_index = -1;  // of cross_entropy()
};

struct PackedBatch {
  Tensor inputs;     // (B,T) i32
  Tensor targets;    // (B,T) i32, ignore_index where there is none
  Tensor documents;  // (B,T) i32: 0, 1, ... in the order of the row; -1: padding
  Tensor positions;  // (B,T) i32: in the row; with `separate` in the row's part of the document
  int64_t input_tokens = 0, target_tokens = 0;  // without padding; positions with a target
  BatchPosition position;
};

class PackedText {
 public:
  // The tokens must outlive the stream. Empty documents are left out.
  explicit PackedText(std::vector<std::span<const int32_t>> documents, const PackedTextOptions& options = {});

  PackedBatch next();
  BatchPosition position() const { return position_; }  // of the batch that next() will return
  void seek(BatchPosition position);                    // InputError if an epoch has no such batch
  int64_t rows_in_epoch() const;
  int64_t batches_in_epoch() const;
  int64_t tokens() const { return tokens_; }  // of an epoch: with bos and eos, without padding

 private:
  struct Row;
  int64_t packed_length(uint32_t document) const;
  int32_t token(uint32_t document, int64_t index) const;
  void make_plan(int64_t epoch);
  void fill(int64_t row, Row out) const;

  std::vector<std::span<const int32_t>> documents_;
  PackedTextOptions options_;
  int64_t tokens_ = 0;
  BatchPosition position_;
  int64_t planned_epoch_ = -1;
  std::vector<uint32_t> order_;  // documents, one after the other
  std::vector<int64_t> begins_;  // of the documents in that order, in tokens
  std::vector<uint32_t> turns_;  // the order of the rows
};

}  // namespace qkv
