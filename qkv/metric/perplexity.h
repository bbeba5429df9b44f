// Metrics of language models: perplexity and accuracy from sums over tokens, and the perplexity of a unigram model
// to compare with.
//
//     perplexity = exp(-sum of log p(token) / number of tokens)
//
//     LanguageModelScore score;
//     score.add(-log_probability, tokens);                      // batch after batch
//     fmt::print("{:.2f}\n", score.perplexity());
//
//     UnigramModel unigram(tokenizer.size());                   // p(w) = (count(w) + 1) / (tokens + V)
//     unigram.add(training_ids);
//     double baseline = unigram.score(validation_ids).perplexity();
//
// A model that has learned only the frequencies of words reaches the perplexity of the unigram model, which is
// smoothed by adding one (Laplace; Jurafsky and Martin, "Speech and Language Processing", section 3.6).
// Errors: Error for ids outside the vocabulary, and for shapes that do not fit.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "qkv/tensor/tensor.h"

namespace qkv {

struct LanguageModelScore {
  double negative_log_likelihood = 0;  // summed, natural logarithm
  int64_t tokens = 0;

  void add(double of_tokens, int64_t count);
  void add(const LanguageModelScore& other);
  double cross_entropy() const;  // per token; 0 without tokens
  double perplexity() const;     // 1 without tokens
};

struct Accuracy {
  int64_t correct = 0, total = 0;

  void add(const Accuracy& other);
  double fraction() const;  // 0 without tokens
};

// The targets (N) i32 that are not ignore_index, and those whose logit in (N,V) f32 is the largest; of equal ones
// the lowest id counts.
Accuracy accuracy(const Tensor& logits, const Tensor& targets, int32_t ignore_index = -1);

class UnigramModel {
 public:
  explicit UnigramModel(int64_t vocabulary);

  void add(std::span<const int32_t> ids);
  double log_probability(int32_t id) const;
  LanguageModelScore score(std::span<const int32_t> ids) const;

 private:
  void check(int32_t id) const;

  std::vector<int64_t> counts_;
  int64_t tokens_ = 0;
};

}  // namespace qkv
