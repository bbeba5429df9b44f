#include "qkv/metric/perplexity.h"

#include <algorithm>
#include <cmath>

#include "qkv/base/error.h"
#include "qkv/base/threads.h"

namespace qkv {

void LanguageModelScore::add(double of_tokens, int64_t count) {
  negative_log_likelihood += of_tokens;
  tokens += count;
}

void LanguageModelScore::add(const LanguageModelScore& other) { add(other.negative_log_likelihood, other.tokens); }

double LanguageModelScore::cross_entropy() const {
  return tokens == 0 ? 0.0 : negative_log_likelihood / static_cast<double>(tokens);
}

double LanguageModelScore::perplexity() const { return std::exp(cross_entropy()); }

void Accuracy::add(const Accuracy& other) {
  correct += other.correct;
  total += other.total;
}

double Accuracy::fraction() const {
  return total == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(total);
}

Accuracy accuracy(const Tensor& logits, const Tensor& targets, int32_t ignore_index) {
  require(logits.rank() == 2 && logits.dtype() == DType::f32 && targets.rank() == 1 &&
              targets.dtype() == DType::i32 && targets.dim(0) == logits.dim(0) && logits.dim(1) >= 1,
          "accuracy", "logits must be f32 (N,V) and targets i32 (N), got {} {} and {} {}", name_of(logits.dtype()),
          logits.shape(), name_of(targets.dtype()), targets.shape());
  const Tensor x = logits.contiguous_copy(), ids = targets.contiguous_copy();
  const int64_t N = x.dim(0), V = x.dim(1);
  std::vector<uint8_t> correct(static_cast<size_t>(N));
  parallel_for(N, [&](int64_t n) {
    const int32_t id = ids.data<int32_t>()[n];
    if (id == ignore_index) return;
    require(id >= 0 && id < V, "accuracy", "target {} of row {} is outside the vocabulary of {}", id, n, V);
    const float* row = x.data<float>() + n * V;
    correct[static_cast<size_t>(n)] = std::max_element(row, row + V) - row == id;
  });
  const auto all = ids.span<int32_t>();
  return {.correct = std::count(correct.begin(), correct.end(), 1),
          .total = N - std::count(all.begin(), all.end(), ignore_index)};
}

UnigramModel::UnigramModel(int64_t vocabulary) {
  require(vocabulary >= 1, "unigram", "the vocabulary must have at least 1 token, got {}", vocabulary);
  counts_.resize(static_cast<size_t>(vocabulary));
}

void UnigramModel::check(int32_t id) const {
  require(id >= 0 && static_cast<size_t>(id) < counts_.size(), "unigram", "id {} is outside the vocabulary of {}",
          id, counts_.size());
}

void UnigramModel::add(std::span<const int32_t> ids) {
  for (const int32_t id : ids) check(id);
  for (const int32_t id : ids) ++counts_[static_cast<size_t>(id)];
  tokens_ += static_cast<int64_t>(ids.size());
}

double UnigramModel::log_probability(int32_t id) const {
  check(id);
  const auto all = static_cast<double>(tokens_) + static_cast<double>(counts_.size());
  return std::log((static_cast<double>(counts_[static_cast<size_t>(id)]) + 1.0) / all);
}

LanguageModelScore UnigramModel::score(std::span<const int32_t> ids) const {
  LanguageModelScore score;
  for (const int32_t id : ids) score.add(-log_probability(id), 1);
  return score;
}

}  // namespace qkv
