// Validation: the loss and BLEU of a model on sentence pairs that it is not trained on.
//
//     Validator validator(data, {.batch_tokens = 4096, .translated = 500});
//     Validation v = validator.measure(model);
//     fmt::print("loss {:.3f}, perplexity {:.2f}, BLEU {:.1f}\n", v.loss, v.perplexity(), v.bleu.value_or(0));
//
// The loss is the cross entropy per target token, the end of the sentence included, in nats and without label
// smoothing. BLEU is that of greedy translations of the first `translated` pairs.
#pragma once

#include <cmath>
#include <optional>

#include "qkv/model/transformer.h"
#include "qkv/train/data.h"

namespace qkv {

struct Validation {
  double loss = 0;
  std::optional<double> bleu = {};
  double perplexity() const { return std::exp(loss); }
};

struct ValidationOptions {
  int64_t batch_tokens = 4096;
  int64_t translated = 0;
};

class Validator {
 public:
  Validator(const TrainingData& data, const ValidationOptions& options) : data_(data), options_(options) {}
  Validation measure(const Transformer& model) const;

 private:
  double loss(const Transformer& model) const;
  double translation_bleu(const Transformer& model) const;

  const TrainingData& data_;
  ValidationOptions options_;
};

}  // namespace qkv
