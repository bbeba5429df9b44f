// Validation: the loss and BLEU of a model on sentence pairs that it is not trained on, and how much it uses the
// source.
//
//     Validator validator(data, {.batch_tokens = 4096, .translated = 500});
//     Validation v = validator.measure(model);
//     fmt::print("loss {:.3f}, perplexity {:.2f}, BLEU {:.1f}\n", v.loss, v.perplexity(), v.bleu.value_or(0));
//     SourceUse use = validator.source_use(model);              // use.gain: 0, if the model ignores its source
//
// The loss is the cross entropy per target token, the end of the sentence included, in nats and without label
// smoothing. BLEU is that of greedy translations of the first `translated` pairs.
#pragma once

#include <cmath>
#include <optional>
#include <vector>

#include "qkv/model/encoder_decoder.h"
#include "qkv/train/data.h"

namespace qkv {

struct Validation {
  double loss = 0;
  std::optional<double> bleu = {};
  double perplexity() const { return std::exp(loss); }
};

// Measured on a few validation pairs.
struct SourceUse {
  // How much larger the loss is where sentences have each other's sources, nats per target token.
  double gain = 0;
  // Of the cross-attention weights over S source tokens, by decoder layer: the mean of entropy / ln S. 1: all weights
  // are equal; 0: each is on one token.
  std::vector<double> entropy = {};
};

struct ValidationOptions {
  int64_t batch_tokens = 4096;
  int64_t translated = 0;
};

class Validator {
 public:
  // The data must outlive the validator.
  Validator(const TrainingData& data, const ValidationOptions& options);
  Validation measure(const EncoderDecoder& model) const;
  SourceUse source_use(const EncoderDecoder& model) const;

 private:
  double loss(const EncoderDecoder& model, const EncodedCorpus& pairs) const;
  std::vector<double> cross_attention_entropy(const EncoderDecoder& model) const;
  double translation_bleu(const EncoderDecoder& model) const;

  const TrainingData& data_;
  ValidationOptions options_;
  EncodedCorpus sample_, exchanged_;  // a few pairs, and their targets with each other's sources
};

}  // namespace qkv
