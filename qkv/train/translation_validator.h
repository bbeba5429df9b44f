// Validation of an encoder-decoder: its loss and BLEU on sentence pairs that it is not trained on, and how much it uses
// the source.
//
//     TranslationValidator validator(data, {.batch_tokens = 4096, .translated = 500});
//     Validation v = validator.measure(model);
//     SourceUse use = validator.source_use(model);
//
// The loss covers every target token, the end of the sentence included. BLEU is computed on greedy translations of the
// first `translated` pairs.
#pragma once

#include <vector>

#include "qkv/model/encoder_decoder.h"
#include "qkv/train/translation_data.h"
#include "qkv/train/validation.h"

namespace qkv {

struct TranslationValidatorOptions {
  int64_t batch_tokens = 4096;
  int64_t translated = 0;
};

class TranslationValidator {
 public:
  // The data must outlive the validator.
  TranslationValidator(const TranslationData& data, const TranslationValidatorOptions& options);
  Validation measure(const EncoderDecoder& model) const;
  SourceUse source_use(const EncoderDecoder& model) const;
  // Greedy translations of pairs of a usual length, always the same.
  std::vector<TrainingTask::Sample> samples(const EncoderDecoder& model, int64_t count) const;

 private:
  double loss(const EncoderDecoder& model, const EncodedCorpus& pairs) const;
  std::vector<double> cross_attention_entropy(const EncoderDecoder& model) const;
  // Of the source sentences with these indices.
  std::vector<std::string> translate(const EncoderDecoder& model, const std::vector<size_t>& pairs) const;
  double translation_bleu(const EncoderDecoder& model) const;

  const TranslationData& data_;
  TranslationValidatorOptions options_;
  BatchTokens tokens_;
  EncodedCorpus sample_, exchanged_;  // a few pairs, and their targets with each other's sources
};

}  // namespace qkv
