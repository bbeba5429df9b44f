// The tokens that the sequences of a batch may continue with, where these are not the whole vocabulary (shortlist.h).
//
//     const CandidateTokens candidates({{2, 5, 9}, {2, 7}}, {0, 1});    // of each sequence, sorted; and those in the batch
//     candidates.restrict_logits(*rows);                               // to {2, 5, 7, 9}, the U tokens of the batch
//     const TopTokens& top = candidates.extend(*rows, tokens, pass, row_sequences, 4, options, scan);  // row_sequences (R)
//
// The output product is of the tokens of the batch. Then the logits of the own tokens of a row are put side by side, so that
// what is computed from them does not depend on the other sequences. Without lists, every token is a candidate of every
// sequence. Errors: a sequence without tokens, or whose tokens are not sorted.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/decode/top_tokens.h"
#include "qkv/model/decoding.h"

namespace qkv {

class CandidateTokens {
 public:
  CandidateTokens() = default;  // every token
  // Sequence i of the batch has the list sequences[i].
  CandidateTokens(std::span<const std::vector<int32_t>> lists, std::span<const int64_t> sequences);
  explicit CandidateTokens(std::span<const std::vector<int32_t>> lists);  // a list for each sequence

  void restrict_logits(Decoding& rows) const;
  // Adds tokens to the rows: the best next ones of each, which the scan holds. sequences: of the batch, for each row.
  const TopTokens& extend(Decoding& rows, std::span<const std::vector<int32_t>> tokens, Pass& pass,
                          std::span<const size_t> sequences, int64_t count, const TopTokensOptions& options,
                          TopTokensScan& scan) const;
  // The best of logits (R,U), of the tokens of the batch.
  const TopTokens& best(const Tensor& logits, std::span<const size_t> sequences, int64_t count,
                        TopTokensOptions options, TopTokensScan& scan) const;

 private:
  struct List {
    std::vector<int32_t> ids, columns;  // and where these are in all_
  };
  void find_columns();
  Tensor own_logits(const Tensor& logits, std::span<const size_t> sequences) const;

  std::vector<List> lists_;
  std::vector<int32_t> all_;  // sorted
};

}  // namespace qkv
