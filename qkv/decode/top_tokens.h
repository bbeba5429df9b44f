// The best next tokens of every row of logits, with their log-probabilities:
//
//     log p(v) = logits(v) - log sum_u exp(logits(u))        over the vocabulary V
//
//     TopTokens top = top_tokens(logits, 4, {.eos = 2, .suppress_tokens = {0, 1}});      // logits (R,V)
//     top.row(r)[0]                                                                      // the most likely token
//     top.eos(r)                                                                         // log p of eos
//
// eos is not among the tokens of a row: beam search treats it separately. With eos -1 there is none, and eos(r) is
// -infinity. A row is sorted, with equal logits by id, lower first. It is shorter than `count` if the vocabulary is; a
// logit of -infinity is not a candidate. Rows are computed in parallel and independently. Errors: Overflow for a row
// that holds +infinity or NaN.
//
// The same of logits that come in blocks of columns and are not stored together:
//
//     TopTokensScan scan;                              // kept, it allocates nothing for rows of the same number again
//     scan.start(R, V, 4, options, parts);
//     output.logits_in_blocks(hidden, parts, [&](const kernel::ProductBlock& block) { scan.read(block); });
//     const TopTokens& top = scan.finish();
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/kernel/matmul.h"
#include "qkv/kernel/row_kernels.h"
#include "qkv/tensor/tensor.h"

namespace qkv {

struct TokenChoice {
  int32_t id;
  float log_probability;
};

class TopTokens {
 public:
  std::span<const TokenChoice> row(int64_t r) const {
    return {choices_.data() + r * count_, static_cast<size_t>(lengths_[static_cast<size_t>(r)])};
  }
  float eos(int64_t r) const { return eos_[static_cast<size_t>(r)]; }
  // The tokens that TopTokensOptions::extra_in_rows asks for and that are not in the row.
  std::span<const TokenChoice> extra(int64_t r) const {
    if (extra_.empty()) return {};
    return extra_[static_cast<size_t>(r)];
  }

 private:
  friend class TopTokensScan;
  friend TopTokens forced_token(int64_t rows, int32_t id);

  int64_t count_ = 0;  // capacity of a row
  std::vector<TokenChoice> choices_;
  std::vector<int64_t> lengths_;
  std::vector<float> eos_;
  std::vector<std::vector<TokenChoice>> extra_;
};

struct TopTokensOptions {
  int32_t eos = 2;                                          // -1: none
  std::vector<int32_t> suppress_tokens = {};                // ids that are not candidates
  std::vector<std::vector<int32_t>> suppress_in_rows = {};  // and those of every row by itself; empty: none
  std::vector<std::vector<int32_t>> extra_in_rows = {};     // ids that are wanted besides the best; empty: none
  // False: the softmax is left out, and log p(v) is relative to that of the most likely token, eos included.
  bool normalized = true;
  // The sorted ids of the first logits of every row, if the row is of some tokens only (candidate_tokens.h): log p is over
  // these. Empty: a logit of every id.
  std::vector<std::span<const int32_t>> ids_of_rows = {};
};
TopTokens top_tokens(const Tensor& logits, int64_t count, const TopTokensOptions& options);

class TopTokensScan {
 public:
  // The options must not change until finish().
  void start(int64_t R, int64_t V, int64_t count, const TopTokensOptions& options, int parts = 1);
  // Blocks of one part come in order; those of different rows or parts may come at the same time.
  void read(const kernel::ProductBlock& block);
  const TopTokens& finish();  // valid until the next start
  // All of that, for stored logits.
  const TopTokens& of(const Tensor& logits, int64_t count, const TopTokensOptions& options);

 private:
  void read_row(int64_t r, int part, int64_t first, int64_t columns, const float* x);
  double log_sum(int64_t r) const;  // of exp(logit)
  void finish_row(int64_t r);
  bool is_candidate(int32_t id, int64_t r) const;
  std::span<const int32_t> ids_of(int64_t r) const;
  std::span<const int32_t> extra_of(int64_t r) const;
  size_t at(int64_t r, int64_t part) const { return static_cast<size_t>(r * parts_ + part); }

  const TopTokensOptions* options_ = nullptr;
  int64_t R_ = 0, V_ = 0, count_ = 0, parts_ = 0, blocks_ = 0;
  std::vector<TokenChoice> choices_;          // (R, parts, count): the logits, not yet log-probabilities
  std::vector<int64_t> lengths_;              // (R, parts)
  std::vector<kernel::ExponentialSum> sums_;  // (R, blocks)
  std::vector<float> eos_;                    // (R): logits
  std::vector<std::vector<float>> extra_;     // (R): logits
  TopTokens top_;
};
// One token for each row, of log-probability 0, and no eos.
TopTokens forced_token(int64_t rows, int32_t id);

}  // namespace qkv
