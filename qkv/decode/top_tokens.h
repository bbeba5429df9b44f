// The best next tokens of every row of logits, with their log-probabilities:
//
//     log p(v) = logits(v) - log sum_u exp(logits(u))        over the whole vocabulary V
//
//     TopTokens top = top_tokens(logits, 4, {.end = 2, .never = {0, 1}});      // logits (R,V)
//     top.row(r)[0]                                                            // the likeliest token of row r
//     top.end(r)                                                               // log p of the end of the sentence
//
// The end of the sentence is never among the tokens of a row: a search treats it by itself. A row is sorted, equal
// logits by their ids, lower first; it is shorter than asked when the vocabulary is, and a logit of minus infinity
// is no candidate. Rows are shared out among the threads; none depends on another.
// Errors: a row that holds plus infinity or not-a-number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

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
  float end(int64_t r) const { return ends_[static_cast<size_t>(r)]; }

 private:
  friend TopTokens top_tokens(const Tensor& logits, int64_t count, const struct TopTokensOptions& options);

  int64_t count_ = 0;  // room of a row
  std::vector<TokenChoice> choices_;
  std::vector<int64_t> lengths_;
  std::vector<float> ends_;
};

struct TopTokensOptions {
  int32_t end = 2;
  std::vector<int32_t> never = {};  // ids that are no candidates
};
TopTokens top_tokens(const Tensor& logits, int64_t count, const TopTokensOptions& options);

}  // namespace qkv
